//===- PaddedChunks.cpp - chunks of which the last ones have padding ------------------------===//
//
// Before a reduce_scatter a tensor is copied to one chunk for each rank. The dim that is divided may end within a
// chunk: then one fact has the complete chunks, and a second one the begin of the next chunk. A rank also slices its
// chunk of a tensor that all ranks have, fills the padding of a chunk, and adds chunks with padding.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>
#include <utility>

namespace sluice::check::proof {

std::optional<EntryProof::Chunks> EntryProof::readChunks(const plan::ViewT &view, std::int64_t ranks) {
  if (view.repetition_stride != 0)
    return std::nullopt;
  const std::int64_t length = elementsOf(view.shape) / ranks,
                     offset = std::int64_t(view.offset / dtypeBytes(baseType(view.dtype)));
  plan::ViewT chunk(view);
  chunk.strides.clear();
  chunk.shape = {length};
  std::optional<Reading> first = contents.read(chunk, /*padding=*/false);
  // If this fact is unproved, the content of the view is unproved as well.
  if (!first)
    return std::nullopt;
  const std::vector<Fact> &facts = contents.of(view.buffer);
  const auto found =
      std::ranges::find_if(facts, [&](const Fact &fact) { return fact.offset == offset && fact.dtype == view.dtype; });
  if (found == facts.end())
    return std::nullopt;
  // The loops of one chunk, and the number of complete ones.
  std::vector<Loop> loops = found->loops;
  Chunks result{*first, 0, 0};
  std::int64_t complete = 1;
  // The bounds count from the first elements of their levels.
  const auto isAtStart = [&] {
    std::vector<Bound> levels = found->meaning.bounds;
    levels.push_back({result.end, 0});
    return std::ranges::all_of(levels, [&](const Bound &level) { return found->base % level.end == 0; });
  };
  if (!loops.empty() && loops.front().stride < length && loops.front().stride * loops.front().extent > length) {
    // The outermost loop goes on in the next chunks.
    const Loop outer = loops.front();
    result.distance = length / outer.stride * outer.step;
    result.end = outer.extent * outer.step;
    // Chunks past the end of a bound have padding of the level in which the loop is.
    const bool isInLevels = std::ranges::none_of(
        found->meaning.bounds, [&](const Bound &bound) { return bound.separates(result.distance, outer.step); });
    return length % outer.stride == 0 && result.distance > 0 && isInLevels && isAtStart()
               ? std::optional(std::move(result))
               : std::nullopt;
  }
  if (!loops.empty() && loops.front().stride == length) {
    complete = loops.front().extent;
    result.distance = loops.front().step;
    loops.erase(loops.begin());
  }
  result.end = complete * result.distance;
  const auto next = std::ranges::find_if(facts, [&](const Fact &fact) {
    if (fact.offset != offset + complete * length || fact.dtype != view.dtype)
      return false;
    Fact a = *found, b = fact;
    if (!contents.uniteBounds(a, b) || !(a.meaning == b.meaning))
      return false;
    result.first.meaning = std::move(a.meaning);
    result.first.stored.add(fact.stored);
    return true;
  });
  if (next != facts.end() && complete < ranks) {
    // One loop is shorter than in a complete chunk.
    const std::int64_t distance = next->base - found->base;
    std::vector<Loop> rest = next->loops;
    completeLoops(rest, loops);
    if ((complete > 1 && distance != complete * result.distance) || rest.size() != loops.size())
      return std::nullopt;
    result.distance = distance / complete;
    const Loop *shorter = nullptr;
    for (std::size_t k = 0; k < loops.size(); ++k) {
      if (rest[k] == loops[k])
        continue;
      if (shorter || rest[k].stride != loops[k].stride || rest[k].step != loops[k].step)
        return std::nullopt;
      shorter = &rest[k];
    }
    if (!shorter)
      return std::nullopt;
    const std::int64_t used = shorter->extent * shorter->step;
    result.end = complete * result.distance + used;
    // All elements of the chunks after it are past the end.
    if (used > result.distance)
      return std::nullopt;
  }
  return result.distance > 0 && isAtStart() ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<Reading> EntryProof::readPrefix(const plan::ViewT &view) {
  const std::int64_t offset = std::int64_t(view.offset / dtypeBytes(baseType(view.dtype)));
  for (const Fact &fact : contents.of(view.buffer)) {
    std::int64_t elements = 1, last = 0;
    for (const Loop &loop : fact.loops) {
      elements *= loop.extent;
      last += (loop.extent - 1) * loop.stride;
    }
    // The fact has all elements from the first to its last.
    if (fact.offset != offset || last + 1 != elements)
      continue;
    plan::ViewT prefix(view);
    prefix.strides.clear();
    prefix.shape = {elements};
    std::optional<Reading> reading = contents.read(prefix, /*padding=*/false);
    if (reading && reading->isKnown() && usePart(*reading))
      return reading;
  }
  return std::nullopt;
}

void EntryProof::writeChunk(Chunks chunks, std::span<const std::uint32_t> axes, const plan::ViewT &destination) {
  Reading reading = std::move(chunks.first);
  std::int64_t step = chunks.distance;
  AxisSet divided = 0;
  for (std::size_t a = axes.size(); a-- > 0;) {
    if (sizes[axes[a]] == 1)
      continue;
    reading.meaning.steps.push_back({axes[a], step});
    divided |= AxisSet(1) << axes[a];
    step *= sizes[axes[a]];
  }
  if (chunks.end != contents.elementsOf(reading.meaning))
    reading.meaning.bounds.push_back({chunks.end, divided});
  std::erase(reading.meaning.zeros, chunks.end);
  Shard shard = reading.shard();
  std::optional<Indexing> at = reshaped(shard.at, destination.shape, shard.bounds);
  if (!at)
    return leaveOpen(destination, "a chunk of another shape");
  shard.at = std::move(*at);
  reading.setShard(std::move(shard));
  write(destination, std::move(reading));
}

void EntryProof::sliceChunk(const plan::LaunchT &launch) {
  const plan::ViewT &destination = *launch.outputs[0];
  const std::size_t dim = std::size_t(numberOf(launch, "dim", 0));
  std::optional<Reading> reading = read(*launch.inputs[0]);
  const auto loseHere = [&](const Reason &reason) { lose(destination, reason); };
  if (!reading || !reading->isKnown())
    return loseHere(reading ? reading->meaning.unproved
                            : "the content of '" + plan.buffers[launch.inputs[0]->buffer]->name + "' is not known");
  const Shape shape = launch.inputs[0]->shape;
  Shape local = shape;
  if (dim >= shape.size() || destination.valid.size() != 1 || destination.valid[0]->dim != dim ||
      destination.valid[0]->total != shape[dim])
    return loseHere("a slice whose valid extent does not state its chunk");
  const std::int64_t chunk = local[dim] = destination.valid[0]->chunk;
  if (local != destination.shape)
    return loseHere("a slice of another shape");
  const std::vector<std::uint32_t> axes = validShardings(destination)[dim].axes;
  // The chunk is a number of the outermost digit of the dim, of which the inner digits are complete.
  const auto divide = [&](Reading &own) {
    // The indices of a part count from the first element.
    if (own.at.base != 0)
      return false;
    Digits digits = joined(own.at.dims[dim]);
    // The elements of a part are dense, also if the dim has one element.
    if (digits.empty() && own.meaning.part != 0)
      digits = {{1, elementsOf(std::span(shape).subspan(dim + 1))}};
    if (digits.empty() || digits.front().step == 0)
      return false;
    const std::int64_t inner = extentOf(digits) / digits.front().extent;
    if (chunk % inner != 0)
      return false;
    const Digit outer = digits.front();
    std::int64_t step = chunk / inner * outer.step, rows = chunk / inner;
    AxisSet taken = 0;
    const std::int64_t end = outer.step * outer.extent;
    for (std::size_t a = axes.size(); a-- > 0; step *= sizes[axes[a]]) {
      own.meaning.steps.push_back({axes[a], step});
      taken |= AxisSet(1) << axes[a];
      rows *= sizes[axes[a]];
    }
    if (rows > outer.extent && end != contents.elementsOf(own.meaning))
      own.meaning.bounds.push_back({end, taken});
    // The elements of a rank's chunk are in the levels of the digit that is divided.
    for (Bound &bound : own.meaning.bounds)
      if (bound.has(outer))
        bound.axes |= taken;
    std::erase(own.meaning.zeros, end);
    own.at.dims[dim].assign(1, {chunk / inner, outer.step});
    own.at.dims[dim].insert(own.at.dims[dim].end(), digits.begin() + 1, digits.end());
    own.setShard(own.shard());
    return true;
  };
  Reading divided = *reading;
  if (axes.empty()) {
    write(destination, std::move(divided));
    return;
  }
  // Ranks would have other chunks of other chunks, which are not all elements together.
  for (std::uint32_t axis : axesOf(reading->meaning))
    if (std::ranges::find(axes, axis) != axes.end())
      return lose(destination, "a second chunk along '" + plan.mesh[axis]->name + "' of " +
                                   numbering.describe(reading->meaning.root));
  const Digits all = flattened(reading->at);
  const bool isUniform = all.empty() || (all.size() == 1 && all[0].step == 0);
  if (isUniform && reading->meaning.steps.empty()) {
    divided.at = uniformIndexing(local);
    divided.at.base = reading->at.base;
    return write(destination, std::move(divided));
  }
  if (divide(divided))
    return write(destination, std::move(divided));
  divided = *reading;
  if (!usePart(divided) || !divide(divided))
    return leaveOpen(destination, "a chunk of " + numbering.describe(reading->meaning.root) + " that is not of digits");
  write(destination, std::move(divided));
}

bool EntryProof::clearPadding(const plan::LaunchT &launch) {
  const plan::ViewT &source = *launch.inputs[0], &destination = *launch.outputs[0];
  const Attributes attributes = attributesOf(launch);
  const auto isAll = [&](std::string_view name, std::int64_t value) {
    return std::ranges::all_of(attributes.list(name), [&](std::int64_t own) { return own == value; });
  };
  if (source.shape != destination.shape || !isAll("low", 0) || !isAll("high", 0) || !isAll("step", 1))
    return false;
  std::optional<Reading> reading = read(source);
  if (!reading || !reading->isKnown()) {
    lose(destination, reading ? reading->meaning.unproved
                              : "the content of '" + plan.buffers[source.buffer]->name + "' is not known");
    return true;
  }
  shardUniform(*reading, source);
  // The padding that is left out becomes the value.
  const std::vector<std::int64_t> before = std::exchange(reading->meaning.zeros, {});
  const bool isZero = numberOf(launch, "value", 0) == 0;
  for (std::int64_t end : paddedEnds(*reading))
    if (isZero && (leavesOut(source, *reading, end) || std::ranges::find(before, end) != before.end()))
      reading->meaning.zeros.push_back(end);
  write(destination, std::move(*reading));
  return true;
}

void EntryProof::keepZeros(const plan::ProgramKindT &kind, std::span<const Match> operands,
                           std::span<const plan::ViewT *const> inputs, Reading &result) const {
  if (!isPointwiseOp(kind.op) || !isLinear(kind) || operands.front().reading.meaning.zeros.empty())
    return;
  simplify(result);
  std::vector<std::int64_t> zeros = operands.front().reading.meaning.zeros;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Reading &own = operands[k].reading;
    if (own.meaning.part != 0 || own.shard() != result.shard())
      return;
    // What a view leaves out is not computed.
    std::erase_if(zeros, [&](std::int64_t end) {
      return std::ranges::find(own.meaning.zeros, end) == own.meaning.zeros.end() || leavesOut(*inputs[k], own, end);
    });
  }
  result.meaning.zeros = std::move(zeros);
}

} // namespace sluice::check::proof
