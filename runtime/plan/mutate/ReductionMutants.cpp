//===- ReductionMutants.cpp - collectives, and accumulation over micro-batches --------===//
#include "runtime/plan/mutate/Mutation.h"

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

template <typename Accept> bool drop(Mutation &m, Accept accept) {
  const auto place = m.place(accept);
  if (place)
    m.erase(*place);
  return place.has_value();
}

bool dropSegment(Mutation &m, CollectiveKind kind) {
  return m.edit([&](const auto &i) { return isCollective(i, kind) && i.operation.AsCollective()->segments.size() > 1; },
                [&](plan::InstructionT &i) {
                  auto &segments = i.operation.AsCollective()->segments;
                  segments.erase(segments.begin() + std::int64_t(m.below(segments.size())));
                });
}

bool duplicate(Mutation &m, CollectiveKind kind) {
  const auto place = m.place(isOf(kind));
  if (place)
    m.insert(*place, std::make_unique<plan::InstructionT>(m.at(*place)));
  return place.has_value();
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

//===--- Accumulation ---===//

plan::AttributeT *firstOf(const plan::InstructionT &i) {
  for (const auto &attribute : i.operation.AsLaunch()->attributes)
    if (attribute->name == "first")
      return attribute.get();
  return nullptr;
}

auto isAccumulate(const Mutation &m, bool first) {
  return [&m, first](const plan::InstructionT &i) {
    return m.isKernel(i, "accumulate") && firstOf(i) && (firstOf(i)->integer != 0) == first;
  };
}

bool accumulateFirstAlways(Mutation &m) {
  return m.edit(isAccumulate(m, false), [](plan::InstructionT &i) { firstOf(i)->integer = 1; });
}

bool accumulateNotLast(Mutation &m) {
  return m.edit([&](const auto &i) { return m.isKernel(i, "accumulate") && i.when == plan::When::not_first; },
                [&](plan::InstructionT &i) {
                  i.when = plan::When::list;
                  i.repetitions.clear();
                  for (std::uint32_t r = 1; r + 1 < m.plan.microbatches; ++r)
                    i.repetitions.push_back(r);
                  if (i.repetitions.empty())
                    i.when = plan::When::first;
                });
}

/// The first of two attributes of one name decides.
bool hideFirst(Mutation &m) {
  return m.edit(isAccumulate(m, true), [&](plan::InstructionT &i) {
    auto hidden = std::make_unique<plan::AttributeT>(*firstOf(i));
    hidden->integer = 0;
    auto &attributes = i.operation.AsLaunch()->attributes;
    attributes.insert(attributes.begin(), std::move(hidden));
  });
}

bool accumulateTwice(Mutation &m) {
  const auto place = m.place(isAccumulate(m, false));
  if (place)
    m.insert(*place, std::make_unique<plan::InstructionT>(m.at(*place)));
  return place.has_value();
}

bool accumulateOther(Mutation &m) {
  const auto place = m.place([&](const auto &i) { return m.isKernel(i, "accumulate"); });
  if (!place)
    return false;
  plan::ViewT &view = *m.launch(*place)->inputs[0];
  const std::vector<std::uint32_t> others = m.alikeBuffers(*place, view.buffer);
  if (others.empty())
    return false;
  view.buffer = m.pick(others);
  m.extendLifespans(place->entry);
  return true;
}

bool halveRepeat(Mutation &m) {
  std::vector<plan::SectionT *> sections;
  for (const auto &entry : m.plan.entries)
    for (const auto &section : entry->sections)
      if (section->repeat > 1)
        sections.push_back(section.get());
  if (sections.empty())
    return false;
  m.pick(sections)->repeat /= 2;
  return true;
}

bool sameMicrobatch(Mutation &m) {
  std::vector<plan::ViewT *> moving;
  for (const MutantPlace &place : m.places(isWork))
    for (plan::ViewT *view : m.reads(m.at(place)))
      if (view->repetition_stride > 0)
        moving.push_back(view);
  if (moving.empty())
    return false;
  m.pick(moving)->repetition_stride = 0;
  return true;
}

} // namespace

std::vector<MutantKind> reductionKinds() {
  return {
      {"wrong-axes", "a collective is over random axes", {1, 5, 7, 8}, wrongAxes},
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
         });
       }},
      {"drop-all-reduce",
       "an all_reduce is left out",
       {2, 7, 9},
       [](Mutation &m) { return drop(m, isOf(CollectiveKind::all_reduce)); }},
      {"drop-all-reduce-segment",
       "a tensor of an all_reduce is left out",
       {2, 7, 9},
       [](Mutation &m) { return dropSegment(m, CollectiveKind::all_reduce); }},
      {"repeat-all-reduce",
       "an all_reduce runs twice",
       {7, 9},
       [](Mutation &m) { return duplicate(m, CollectiveKind::all_reduce); }},
      {"drop-reduce-scatter",
       "a reduce_scatter is left out",
       {2, 7, 9},
       [](Mutation &m) { return drop(m, isOf(CollectiveKind::reduce_scatter)); }},
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
       {2, 3, 7, 8, 9, 10},
       [](Mutation &m) { return swapViews(m, CollectiveKind::reduce_scatter, &plan::SegmentT::source); }},
      {"drop-gather",
       "an all_gather is left out",
       {2, 4},
       [](Mutation &m) { return drop(m, isOf(CollectiveKind::all_gather)); }},
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
       {4, 5, 8},
       gatherToBroadcast},
      {"gather-optimizer-state",
       "an optimizer state is gathered in place of its parameter",
       {1, 4, 8, 9},
       gatherMoment},
      {"halve-collective", "half of a tensor's rows are transferred", {2, 4, 5, 7, 8}, halveCollective},
      {"accumulate-first-always", "a later micro-batch replaces the sum", {7, 9}, accumulateFirstAlways},
      {"drop-accumulate",
       "later micro-batches are not added",
       {7, 9},
       [](Mutation &m) { return drop(m, isAccumulate(m, false)); }},
      {"accumulate-not-last", "the last micro-batch is not added", {2, 7, 9}, accumulateNotLast},
      {"hide-first", "the first micro-batch is added to old bytes by a repeated attribute", {1, 2, 7, 9}, hideFirst},
      {"accumulate-twice", "a micro-batch is added twice", {7, 9}, accumulateTwice},
      {"accumulate-other", "a different value is added to the sum", {2, 3, 4, 7, 9}, accumulateOther},
      {"halve-microbatches", "half of the micro-batches run", {1, 2, 7, 8, 9, 11}, halveRepeat},
      {"same-microbatch", "each repetition reads the same micro-batch", {1, 7, 8, 9}, sameMicrobatch},
  };
}

} // namespace sluice
