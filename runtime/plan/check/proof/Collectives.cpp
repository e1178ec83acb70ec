//===- Collectives.cpp - collectives change shardings and complete sums ---------------------===//
//
// Sources and destinations are dense: the chunk of the rank at coordinate c of the group is the c-th of the tensor.
// all_gather removes a shard, reduce_scatter and all_reduce add the terms of the ranks, and all_to_all removes one
// shard and adds another.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <ranges>

namespace sluice::check::proof {
namespace {

/// All digits of a tensor, outermost first.
Digits digitsOf(const Reading &reading) {
  Digits all;
  for (const Digits &digits : reading.at.dims)
    all.insert(all.end(), digits.begin(), digits.end());
  return joined(all, reading.meaning.bounds);
}

/// Divides the digits of a dense tensor into `ranks` chunks: their distance in the root, and the digits of one.
std::optional<std::pair<std::int64_t, Digits>> chunked(Digits digits, std::int64_t ranks) {
  Digits chunk;
  std::int64_t left = ranks;
  // The outermost digits, until all ranks have a chunk. Only one of them may be of several ranks.
  if (digits.empty())
    return std::nullopt;
  Digit outer = digits.front();
  if (outer.extent % left != 0)
    return std::nullopt;
  const std::int64_t own = outer.extent / left;
  chunk = digits;
  chunk.front().extent = own;
  return std::pair(own * outer.step, chunk);
}

/// `digits` as those of a tensor of this shape.
std::optional<Indexing> shaped(const Digits &digits, const Reading &reading, const Shape &shape) {
  Indexing flat;
  flat.base = reading.at.base;
  flat.dims = {digits};
  return reshaped(flat, shape, reading.meaning.bounds);
}

} // namespace

Verdict EntryProof::reduce(Meaning &meaning, const plan::CollectiveT &collective, std::uint32_t i,
                           std::size_t segment) {
  const Root root = numbering.root(meaning.root);
  const bool isTerm = meaning.isSum || root.varies || root.total != 0 || root.rankTotalOf != 0;
  const bool isMaximum = collective.op == plan::ReduceOp::max;
  const std::vector<std::uint32_t> divided = axesOf(meaning);
  double ranks = 1;
  if (isMaximum && meaning.partial != 0 && meaning.terms == Terms::logSumExp &&
      meaning.partial == setOf(collective.axes)) {
    meaning.root = numbering.largestTerm(meaning.root);
    meaning.partial = 0;
    meaning.terms = Terms::sum;
    return {};
  }
  for (std::uint32_t axis : collective.axes) {
    const AxisSet bit = AxisSet(1) << axis;
    ranks *= sizes[axis];
    if (sizes[axis] == 1)
      continue;
    const bool isStep = std::ranges::find(divided, axis) != divided.end();
    if (meaning.partial & bit) {
      if (meaning.terms != (isMaximum ? Terms::maximum : Terms::sum))
        return refuseAt(i, 9,
                        concat(", segment ", segment, ", ",
                               isMaximum                         ? "takes the largest of "
                               : meaning.terms == Terms::maximum ? "adds numbers of which the largest counts: "
                                                                 : "adds numbers whose exponentials count: ",
                               describe(meaning)));
      meaning.partial &= ~bit;
    } else if (isStep) {
      return refuseAt(i, 9, concat(", segment ", segment, ", reduces different shards of ", describe(meaning)));
    } else if ((dataAxes & bit) && isTerm && (meaning.summed & bit)) {
      // Equal sums of all ranks.
      if (!isMaximum)
        meaning.coefficient *= sizes[axis];
    } else if ((dataAxes & bit) && isTerm) {
      if (isMaximum)
        return refuseAt(i, 7,
                        concat(", segment ", segment,
                               ", takes the largest of the ranks' numbers, expected their sum: ", describe(meaning)));
      if (!meaning.isSum && !root.varies)
        meaning.first = meaning.last = repetition;
      meaning.isSum = true;
      meaning.summed |= bit;
    } else if (!isMaximum) {
      meaning.coefficient *= sizes[axis];
    }
  }
  if (meaning.partial == 0)
    meaning.terms = Terms::sum;
  if (collective.op == plan::ReduceOp::mean)
    meaning.coefficient /= ranks;
  else if (collective.op == plan::ReduceOp::premul_sum)
    meaning.coefficient *= collective.scale;
  return {};
}

void EntryProof::useRowsOfRanks(Meaning &meaning, const plan::CollectiveT &collective) const {
  const Root &root = numbering.root(meaning.root);
  const auto isData = [&](const AxisStep &step) { return (dataAxes >> step.axis & 1) != 0; };
  if (root.ofAllRanks == 0 || meaning.isSum || meaning.partial != 0 || meaning.part != 0 ||
      (setOf(collective.axes) & ~dataAxes) != 0 || std::ranges::any_of(meaning.steps, isData))
    return;
  meaning.root = root.ofAllRanks;
  std::int64_t step = root.elements;
  for (std::size_t a = plan.data_axes.size(); a-- > 0; step *= sizes[plan.data_axes[a]])
    if (sizes[plan.data_axes[a]] > 1)
      meaning.steps.push_back({plan.data_axes[a], step});
  std::sort(meaning.steps.begin(), meaning.steps.end());
}

RootId EntryProof::rankPartOf(const Reading &reading, const plan::CollectiveT &collective) const {
  const Meaning &meaning = reading.meaning;
  const auto isDivided = [&](std::uint32_t axis) { return sizes[axis] > 1; };
  if (meaning.first != repetition || meaning.last != repetition || meaning.summed != dataAxes || meaning.partial != 0 ||
      !std::ranges::equal(collective.axes | std::views::filter(isDivided),
                          plan.data_axes | std::views::filter(isDivided)))
    return 0;
  for (const RankPart &own : numbering.root(meaning.root).rankParts)
    if (reading.hasElementsOf({{}, own.at}))
      return own.part;
  return 0;
}

Verdict EntryProof::gatherShards(Meaning &meaning, const plan::CollectiveT &collective, std::uint32_t i,
                                 std::size_t segment, Gathered &gathered) {
  const std::string where = concat(", segment ", segment,
                                   collective.kind == plan::CollectiveKind::all_to_all ? ", exchanges " : ", gathers ");
  std::int64_t step = -1, next = -1;
  for (const std::uint32_t axis : collective.axes | std::views::reverse) {
    if (sizes[axis] == 1)
      continue;
    const auto found = std::ranges::find(meaning.steps, axis, &AxisStep::axis);
    if (found == meaning.steps.end())
      return refuseAt(i, numbering.root(meaning.root).varies ? 9 : 8,
                      concat(where, describe(meaning), ", which is not sharded along '", plan.mesh[axis]->name, "'"));
    // The distance of chunks along an axis is that of all ranks of the inner axes.
    if (next >= 0 && found->step != next)
      return refuseAt(i, 8, concat(where, "shards in another order of ", describe(meaning)));
    step = step < 0 ? found->step : step;
    next = found->step * sizes[axis];
    meaning.steps.erase(found);
    gathered.hasAllChunks = gatherAxis(meaning.bounds, axis, step) && gathered.hasAllChunks;
  }
  gathered.step = step;
  return {};
}

void EntryProof::shardAlong(Meaning &meaning, const plan::CollectiveT &collective, const DenseChunk &chunk) const {
  std::int64_t step = chunk.first;
  for (const std::uint32_t axis : collective.axes | std::views::reverse) {
    if (sizes[axis] > 1) {
      meaning.steps.push_back({axis, step});
      for (Bound &bound : meaning.bounds)
        if (!chunk.second.empty() && bound.has(chunk.second.front()))
          bound.axes |= AxisSet(1) << axis;
    }
    step *= sizes[axis];
  }
  std::sort(meaning.steps.begin(), meaning.steps.end());
}

Verdict EntryProof::collective(const plan::CollectiveT &collective, std::uint32_t i) {
  std::vector<std::optional<Reading>> sources;
  for (const auto &segment : collective.segments)
    sources.push_back(read(*segment->source));
  std::int64_t ranks = 1;
  for (std::uint32_t axis : collective.axes)
    ranks *= sizes[axis];
  for (std::size_t s = 0; s < collective.segments.size(); ++s) {
    ++facts;
    const plan::ViewT &source = *collective.segments[s]->source, &destination = *collective.segments[s]->destination;
    if (collective.kind == plan::CollectiveKind::reduce_scatter && !contents.read(source, /*padding=*/false)) {
      if (std::optional<Chunks> chunks = readChunks(source, ranks)) {
        SLUICE_CHECK(reduce(chunks->first.meaning, collective, i, s));
        writeChunk(std::move(*chunks), collective.axes, destination);
        continue;
      }
      const bool hasDigits =
          sources[s] && (!sources[s]->isKnown() || chunked(digitsOf(*sources[s]), ranks).has_value());
      if (std::optional<Reading> prefix = hasDigits ? std::nullopt : readPrefix(source)) {
        // Chunks of the part, the last ones with padding past its end.
        SLUICE_CHECK(reduce(prefix->meaning, collective, i, s));
        const std::int64_t length = elementsOf(source.shape) / ranks, end = contents.elementsOf(prefix->meaning);
        prefix->setShard({denseIndexing(std::span(&length, 1)), {}, {}});
        writeChunk({std::move(*prefix), length, end}, collective.axes, destination);
        continue;
      }
    }
    if (!sources[s] || !sources[s]->meaning.unproved.empty()) {
      lose(destination, sources[s] ? sources[s]->meaning.unproved
                                   : "the content of '" + plan.buffers[source.buffer]->name + "' is not known");
      continue;
    }
    Reading reading = std::move(*sources[s]);
    Digits digits = digitsOf(reading);
    switch (collective.kind) {
    case plan::CollectiveKind::all_gather: {
      useRowsOfRanks(reading.meaning, collective);
      Gathered gathered;
      SLUICE_CHECK(gatherShards(reading.meaning, collective, i, s, gathered));
      if (!gathered.hasAllChunks) {
        // The first chunk has all elements of the dim, and the others are padding.
        plan::ViewT first(destination);
        first.shape = {elementsOf(destination.shape) / ranks};
        contents.forget(destination);
        if (std::optional<Indexing> at = shaped(digits, reading, first.shape)) {
          reading.at = std::move(*at);
          write(first, std::move(reading));
        }
        continue;
      }
      if (ranks > 1)
        digits.insert(digits.begin(), {ranks, gathered.step});
      break;
    }
    case plan::CollectiveKind::reduce_scatter: {
      SLUICE_CHECK(reduce(reading.meaning, collective, i, s));
      if (const RootId part = rankPartOf(reading, collective)) {
        Meaning own;
        own.root = part;
        own.coefficient = reading.meaning.coefficient;
        own.first = own.last = repetition;
        reading.meaning = std::move(own);
        digits = joined({{numbering.root(part).elements, 1}});
        reading.at.base = 0;
        break;
      }
      auto chunk = chunked(digits, ranks);
      // A rank's part may be divided at other positions than its digits have.
      if (!chunk && usePart(reading))
        chunk = chunked(digits = digitsOf(reading), ranks);
      if (!chunk) {
        leaveOpen(destination, "chunks of '" + plan.buffers[source.buffer]->name + "' that are not digits");
        continue;
      }
      digits = chunk->second;
      shardAlong(reading.meaning, collective, *chunk);
      break;
    }
    case plan::CollectiveKind::all_to_all: {
      // The chunks of the source become shards, and the shards become the chunks of the destination.
      const auto chunk = chunked(digits, ranks);
      Gathered gathered;
      SLUICE_CHECK(gatherShards(reading.meaning, collective, i, s, gathered));
      if (!chunk || !gathered.hasAllChunks) {
        leaveOpen(destination, "chunks of '" + plan.buffers[source.buffer]->name + "' that are not digits");
        continue;
      }
      digits = chunk->second;
      shardAlong(reading.meaning, collective, *chunk);
      if (ranks > 1)
        digits.insert(digits.begin(), {ranks, gathered.step});
      break;
    }
    case plan::CollectiveKind::all_reduce:
      SLUICE_CHECK(reduce(reading.meaning, collective, i, s));
      break;
    default:
      // The numbers of one rank replace those of the others: nothing changes if they are equal.
      const bool differs = reading.meaning.partial != 0 || numbering.root(reading.meaning.root).varies ||
                           reading.meaning.isSum || !axesOf(reading.meaning).empty();
      if (collective.kind != plan::CollectiveKind::broadcast || differs) {
        const std::string what =
            concat(plan::EnumNameCollectiveKind(collective.kind), " of ", describe(reading.meaning));
        if (collective.kind == plan::CollectiveKind::broadcast)
          return refuseAt(i, 7,
                          concat(", segment ", s, ", replaces ", describe(reading.meaning), " by that of one rank"));
        leaveOpen(destination, what);
        continue;
      }
      break;
    }
    std::optional<Indexing> at = shaped(digits, reading, destination.shape);
    if (!at) {
      leaveOpen(destination, "a collective to another shape");
      continue;
    }
    reading.at = std::move(*at);
    write(destination, std::move(reading));
  }
  return {};
}

} // namespace sluice::check::proof
