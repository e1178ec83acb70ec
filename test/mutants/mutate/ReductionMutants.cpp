//===- ReductionMutants.cpp - collectives ---------------------------------------------===//
#include "test/mutants/mutate/Mutation.h"

#include <algorithm>

namespace sluice {

namespace {

using plan::CollectiveKind;

auto isOf(CollectiveKind kind) {
  return [kind](const plan::InstructionT &i) { return isCollective(i, kind); };
}

/// Edits a collective that is accepted.
template <typename Accept, typename Edit> bool editCollective(Mutation &m, Accept accept, Edit edit) {
  return m.edit(accept, [&](plan::InstructionT &i) { edit(*i.operation.AsCollective()); });
}

bool wrongAxes(Mutation &m) {
  return editCollective(
      m, [](const auto &i) { return isCollective(i); },
      [&](plan::CollectiveT &collective) {
        collective.axes.clear();
        for (std::uint32_t axis = 0; axis < m.plan.mesh.size(); ++axis)
          if (m.coin())
            collective.axes.push_back(axis);
      });
}

/// A collective is over one axis less.
bool dropAxis(Mutation &m) {
  return editCollective(
      m, [](const auto &i) { return isCollective(i) && !i.operation.AsCollective()->axes.empty(); },
      [&](plan::CollectiveT &collective) {
        collective.axes.erase(collective.axes.begin() + std::int64_t(m.below(collective.axes.size())));
      });
}

/// Chunks of a group of two axes are in the order of the other one.
bool reverseAxes(Mutation &m) {
  return editCollective(
      m, [](const auto &i) { return isCollective(i) && i.operation.AsCollective()->axes.size() > 1; },
      [](plan::CollectiveT &collective) { std::ranges::reverse(collective.axes); });
}

/// An all_gather, a reduce_scatter or an all_reduce is another one of them.
bool otherKind(Mutation &m) {
  return editCollective(
      m, [](const auto &i) { return isCollective(i); },
      [&](plan::CollectiveT &collective) {
        const CollectiveKind kinds[] = {CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                        CollectiveKind::all_reduce};
        collective.kind = kinds[m.below(std::size(kinds))];
        const bool isGather = collective.kind == CollectiveKind::all_gather;
        if (isGather != (collective.op == plan::ReduceOp::none))
          collective.op = isGather ? plan::ReduceOp::none : plan::ReduceOp::sum;
      });
}

bool axesOfSameSize(Mutation &m) {
  std::vector<std::pair<plan::CollectiveT *, std::uint32_t>> choices;
  for (const MutantPlace &place : m.places([](const auto &i) { return isCollective(i); }))
    if (plan::CollectiveT &collective = *m.collective(place); collective.axes.size() == 1)
      for (std::uint32_t axis = 0; axis < m.plan.mesh.size(); ++axis)
        if (axis != collective.axes[0] && m.plan.mesh[axis]->size == m.plan.mesh[collective.axes[0]]->size)
          choices.push_back({&collective, axis});
  if (choices.empty())
    return false;
  const auto [collective, axis] = m.pick(choices);
  collective->axes = {axis};
  return true;
}

bool isMean(const plan::InstructionT &i) {
  return isReduction(i) && i.operation.AsCollective()->op == plan::ReduceOp::mean;
}

bool allMeansToSum(Mutation &m) {
  const std::vector<MutantPlace> all = m.places(isMean);
  for (const MutantPlace &place : all)
    m.collective(place)->op = plan::ReduceOp::sum;
  return !all.empty();
}

bool scale(Mutation &m) {
  return editCollective(m, isReduction, [&](plan::CollectiveT &collective) {
    // premul_sum has a factor; a sum and a mean get one.
    collective.scale = collective.op == plan::ReduceOp::premul_sum ? collective.scale / 2 : 0.25;
    collective.op = plan::ReduceOp::premul_sum;
  });
}

bool dropSegment(Mutation &m, CollectiveKind kind) {
  return m.edit([&](const auto &i) { return isCollective(i, kind) && i.operation.AsCollective()->segments.size() > 1; },
                [&](plan::InstructionT &i) {
                  auto &segments = i.operation.AsCollective()->segments;
                  segments.erase(segments.begin() + std::int64_t(m.below(segments.size())));
                });
}

/// Replaces a reduce_scatter by copies of each segment's first chunk.
void scatterToCopy(Mutation &m, const MutantPlace &place) {
  const auto scatter = std::make_unique<plan::InstructionT>(m.at(place));
  m.erase(place);
  for (const auto &segment : scatter->operation.AsCollective()->segments) {
    auto copy = std::make_unique<plan::InstructionT>(*scatter);
    copy->operation.Set(plan::CopyT());
    copy->operation.AsCopy()->source = std::make_unique<plan::ViewT>(*segment->destination);
    copy->operation.AsCopy()->source->buffer = segment->source->buffer;
    copy->operation.AsCopy()->source->offset = segment->source->offset;
    copy->operation.AsCopy()->destination = std::make_unique<plan::ViewT>(*segment->destination);
    m.insert(place, std::move(copy));
  }
}

bool scatterToLocalCopy(Mutation &m, bool all) {
  const auto one = m.place(isOf(CollectiveKind::reduce_scatter));
  if (!one)
    return false;
  if (!all) {
    scatterToCopy(m, *one);
    return true;
  }
  for (auto places = m.places(isOf(CollectiveKind::reduce_scatter)); !places.empty();
       places = m.places(isOf(CollectiveKind::reduce_scatter)))
    scatterToCopy(m, places.front());
  return true;
}

/// Exchanges the views of two segments of the same types, of one collective or of two of an entry point.
bool swapViews(Mutation &m, CollectiveKind kind, std::unique_ptr<plan::ViewT> plan::SegmentT::*view) {
  std::vector<std::pair<plan::SegmentT *, plan::SegmentT *>> pairs;
  std::vector<plan::SegmentT *> before;
  std::uint32_t entry = 0;
  for (const MutantPlace &place : m.places(isOf(kind))) {
    if (place.entry != entry)
      before.clear();
    entry = place.entry;
    for (const auto &segment : m.collective(place)->segments) {
      for (plan::SegmentT *other : before)
        if (sameType(*other->source, *segment->source) && sameType(*other->destination, *segment->destination) &&
            ((*other).*view)->buffer != ((*segment).*view)->buffer)
          pairs.push_back({other, segment.get()});
      before.push_back(segment.get());
    }
    // Neighbouring collectives: buffers of others are rarely live together.
    if (before.size() > 64)
      before.erase(before.begin(), before.end() - 64);
  }
  if (pairs.empty())
    return false;
  const auto [first, second] = m.pick(pairs);
  std::swap(first->*view, second->*view);
  for (std::uint32_t e = 0; e < m.plan.entries.size(); ++e)
    m.extendLifespans(e);
  return true;
}

/// Gathers the first of two shards of the same type in place of the second.
bool gatherTwice(Mutation &m) {
  std::vector<std::pair<plan::SegmentT *, plan::SegmentT *>> pairs;
  for (const MutantPlace &place : m.places(isOf(CollectiveKind::all_gather)))
    for (const auto &first : m.collective(place)->segments)
      for (const auto &second : m.collective(place)->segments)
        if (first != second && sameType(*first->source, *second->source))
          pairs.push_back({first.get(), second.get()});
  if (pairs.empty())
    return false;
  const auto [first, second] = m.pick(pairs);
  *second->source = *first->source;
  return true;
}

/// Every rank gets the shard of the first one in place of each shard.
bool gatherToBroadcast(Mutation &m) {
  return editCollective(m, isOf(CollectiveKind::all_gather), [&](plan::CollectiveT &collective) {
    collective.kind = CollectiveKind::broadcast;
    std::vector<std::unique_ptr<plan::SegmentT>> segments;
    const std::uint64_t ranks = groupSize(m.plan, collective.axes);
    for (const auto &segment : collective.segments)
      for (std::uint64_t c = 0; c < ranks; ++c) {
        auto part = std::make_unique<plan::SegmentT>(*segment);
        part->destination->shape = part->source->shape;
        part->destination->strides.clear();
        part->destination->offset += c * viewBytes(*part->source).value_or(0);
        segments.push_back(std::move(part));
      }
    collective.segments = std::move(segments);
  });
}

bool gatherMoment(Mutation &m) {
  std::vector<std::pair<plan::ViewT *, std::uint32_t>> choices;
  for (const MutantPlace &place : m.places(isOf(CollectiveKind::all_gather)))
    for (const auto &segment : m.collective(place)->segments)
      for (const auto &parameter : m.plan.parameters)
        for (const auto &state : parameter->states)
          if (parameter->buffer == segment->source->buffer)
            choices.push_back({segment->source.get(), state->buffer});
  if (choices.empty())
    return false;
  const auto [view, buffer] = m.pick(choices);
  view->buffer = buffer;
  return true;
}

bool halveCollective(Mutation &m) {
  std::vector<plan::SegmentT *> segments;
  for (const MutantPlace &place : m.places([](const auto &i) { return isCollective(i); }))
    for (const auto &segment : m.collective(place)->segments)
      if (!segment->source->shape.empty() && !segment->destination->shape.empty() && segment->source->shape[0] > 1 &&
          segment->destination->shape[0] > 1)
        segments.push_back(segment.get());
  if (segments.empty())
    return false;
  plan::SegmentT &segment = *m.pick(segments);
  segment.source->shape[0] /= 2;
  segment.destination->shape[0] /= 2;
  return true;
}

} // namespace

std::vector<MutantKind> reductionKinds() {
  return {
      {"wrong-axes", "a collective is over random axes", {1, 5, 7, 8, 9}, wrongAxes},
      {"drop-axis", "a collective is over one axis less", {1, 5, 7, 8, 9}, dropAxis},
      {"reverse-axes", "the axes of a collective are in the reverse order", {4, 5, 7, 8, 9}, reverseAxes},
      {"other-collective", "a collective is of a different kind", {1, 2, 4, 5, 7, 8, 9, 13}, otherKind},
      {"axes-of-same-size", "a collective is over a different axis of the same size", {5, 7, 8, 9}, axesOfSameSize},
      {"collective-dtype",
       "the element type of a collective is i32",
       {1, 5, 7, 9},
       [](Mutation &m) {
         return editCollective(
             m, [](const auto &i) { return isCollective(i); },
             [](plan::CollectiveT &collective) { collective.dtype = plan::DType::i32; });
       }},
      {"mean-to-sum",
       "a mean over ranks is a sum",
       {7, 9},
       [](Mutation &m) {
         return editCollective(m, isMean, [](plan::CollectiveT &collective) { collective.op = plan::ReduceOp::sum; });
       }},
      {"all-means-to-sums", "all means over ranks are sums", {7, 9}, allMeansToSum},
      {"sum-to-mean",
       "a sum over ranks is a mean",
       {7, 9},
       [](Mutation &m) {
         return editCollective(
             m, [](const auto &i) { return isReduction(i) && i.operation.AsCollective()->op == plan::ReduceOp::sum; },
             [](plan::CollectiveT &collective) { collective.op = plan::ReduceOp::mean; });
       }},
      {"reduce-to-max",
       "a reduction over ranks takes the maximum",
       {5, 7, 9},
       [](Mutation &m) {
         return editCollective(m, isReduction,
                               [](plan::CollectiveT &collective) { collective.op = plan::ReduceOp::max; });
       }},
      {"scale-reduction", "a reduction over ranks has a different factor", {5, 7, 9}, scale},
      {"all-reduce-to-broadcast",
       "an all_reduce is a broadcast",
       {5, 7, 9},
       [](Mutation &m) {
         return editCollective(m, isOf(CollectiveKind::all_reduce), [](plan::CollectiveT &collective) {
           collective.kind = CollectiveKind::broadcast;
           collective.op = plan::ReduceOp::none;
           collective.reduction = plan::ReductionClass::not_a_reduction;
         });
       }},
      {"drop-all-reduce",
       "an all_reduce is left out",
       {2, 7, 9},
       [](Mutation &m) { return m.drop(isOf(CollectiveKind::all_reduce)); }},
      {"drop-all-reduce-segment",
       "a tensor of an all_reduce is left out",
       {2, 7, 9},
       [](Mutation &m) { return dropSegment(m, CollectiveKind::all_reduce); }},
      {"repeat-all-reduce",
       "an all_reduce runs twice",
       {7, 9},
       [](Mutation &m) { return m.repeat(isOf(CollectiveKind::all_reduce)); }},
      {"drop-reduce-scatter",
       "a reduce_scatter is left out",
       {2, 7, 9},
       [](Mutation &m) { return m.drop(isOf(CollectiveKind::reduce_scatter)); }},
      {"drop-reduce-scatter-segment",
       "a tensor of a reduce_scatter is left out",
       {2, 7, 9},
       [](Mutation &m) { return dropSegment(m, CollectiveKind::reduce_scatter); }},
      {"reduce-scatter-to-copy",
       "a rank's first chunk is copied in place of a reduce_scatter",
       {4, 7, 8, 9},
       [](Mutation &m) { return scatterToLocalCopy(m, false); }},
      {"all-reduce-scatters-to-copies",
       "first chunks are copied in place of all reduce_scatters",
       {4, 7, 8, 9},
       [](Mutation &m) { return scatterToLocalCopy(m, true); }},
      {"swap-reduce-scatter-outputs",
       "the outputs of two reduced tensors are exchanged",
       {2, 3, 7, 8, 9, 10},
       [](Mutation &m) { return swapViews(m, CollectiveKind::reduce_scatter, &plan::SegmentT::destination); }},
      {"swap-reduce-scatter-inputs",
       "the inputs of two reduced tensors are exchanged",
       {2, 3, 4, 7, 8, 9, 10},
       [](Mutation &m) { return swapViews(m, CollectiveKind::reduce_scatter, &plan::SegmentT::source); }},
      {"repeat-reduce-scatter",
       "a reduce_scatter runs twice",
       {2, 4, 7, 9},
       [](Mutation &m) { return m.repeat(isOf(CollectiveKind::reduce_scatter)); }},
      {"repeat-gather",
       "an all_gather runs twice",
       {2, 4},
       [](Mutation &m) { return m.repeat(isOf(CollectiveKind::all_gather)); }},
      {"swap-gather-inputs",
       "the shards of two gathered tensors are exchanged",
       {2, 4, 8, 9},
       [](Mutation &m) { return swapViews(m, CollectiveKind::all_gather, &plan::SegmentT::source); }},
      {"swap-all-reduce-outputs",
       "the outputs of two tensors of all_reduces are exchanged",
       {2, 3, 5, 7, 8, 9, 10},
       [](Mutation &m) { return swapViews(m, CollectiveKind::all_reduce, &plan::SegmentT::destination); }},
      {"drop-gather",
       "an all_gather is left out",
       {2, 4},
       [](Mutation &m) { return m.drop(isOf(CollectiveKind::all_gather)); }},
      {"drop-gather-segment",
       "a tensor of an all_gather is left out",
       {2, 4},
       [](Mutation &m) { return dropSegment(m, CollectiveKind::all_gather); }},
      {"swap-gather-outputs",
       "the outputs of two gathered tensors are exchanged",
       {2, 3, 4, 8, 9},
       [](Mutation &m) { return swapViews(m, CollectiveKind::all_gather, &plan::SegmentT::destination); }},
      {"gather-shard-twice", "a shard is gathered in place of another one", {4, 8, 9}, gatherTwice},
      {"gather-to-broadcast",
       "every rank gets the first rank's shard in place of each shard",
       {4, 5, 7, 8},
       gatherToBroadcast},
      {"gather-optimizer-state",
       "an optimizer state is gathered in place of its parameter",
       {1, 4, 8, 9},
       gatherMoment},
      {"halve-collective", "half of a tensor's rows are transferred", {2, 4, 5, 7, 8, 9}, halveCollective},
  };
}

} // namespace sluice
