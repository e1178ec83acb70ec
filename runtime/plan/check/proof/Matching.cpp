//===- Matching.cpp - compares what a tensor holds with a value of the program --------------===//
//
// See EntryProof.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace sluice::check::proof {

AxisSet EntryProof::setOf(std::span<const std::uint32_t> axes) const {
  AxisSet set = 0;
  for (std::uint32_t axis : axes)
    if (sizes[axis] > 1)
      set |= AxisSet(1) << axis;
  return set;
}

std::string EntryProof::namesOf(AxisSet axes) const {
  std::string names;
  for (std::uint32_t axis = 0; axis < sizes.size(); ++axis)
    if (axes >> axis & 1)
      names += (names.empty() ? "'" : ", '") + plan.mesh[axis]->name + "'";
  return names;
}

std::string EntryProof::describe(const Meaning &meaning) const {
  std::string text;
  if (!areClose(meaning.coefficient, 1))
    text = formatNumber(meaning.coefficient) + " times ";
  if (meaning.isSum && (meaning.summed != 0 || meaning.first != meaning.last || repeat > 1)) {
    text += "the sum";
    if (meaning.summed != 0)
      text += " over " + namesOf(meaning.summed);
    if (repeat > 1)
      text += meaning.first == meaning.last ? concat(" of micro-batch ", meaning.first)
                                            : concat(" over micro-batches ", meaning.first, " to ", meaning.last);
    text += " of ";
  } else if (numbering.root(meaning.root).varies && meaning.last != repetition) {
    text += concat("micro-batch ", meaning.last, " of ");
  }
  if (meaning.partial != 0)
    text += "terms along " + namesOf(meaning.partial) + " of ";
  return text + numbering.describe(meaning.root);
}

bool EntryProof::isTotal(const Meaning &meaning, double coefficient, bool overRepetitions, Mismatch &mismatch) const {
  mismatch.property = 7;
  const std::string of = numbering.describe(meaning.root);
  // A value that was not accumulated and does not vary counts for one repetition.
  const bool isOfOne = !meaning.isSum && !numbering.root(meaning.root).varies;
  const std::uint32_t wantedFirst = overRepetitions ? 0 : repetition,
                      wantedLast = overRepetitions ? repeat - 1 : repetition,
                      first = isOfOne ? repetition : meaning.first, last = isOfOne ? repetition : meaning.last;
  if (first > wantedFirst || last < wantedLast) {
    mismatch.text = concat("misses micro-batch ", first > wantedFirst ? wantedFirst : wantedLast, " of ", of);
  } else if (first < wantedFirst)
    mismatch.text = concat("has more than micro-batch ", repetition, " of ", of);
  else if (const AxisSet missing = dataAxes & ~meaning.summed)
    mismatch.text = "misses the ranks along " + namesOf(missing) + " of the sum of " + of;
  else if (meaning.partial != 0)
    mismatch.text = "is a term, not reduced along " + namesOf(meaning.partial) + ", of " + of;
  else if (!areClose(meaning.coefficient, coefficient))
    mismatch.text = concat("has the sum of ", of, " times ", formatNumber(meaning.coefficient), ", expected times ",
                           formatNumber(coefficient));
  else
    return true;
  return false;
}

bool EntryProof::means(const Reading &reading, const Value &expected, Mismatch &mismatch) const {
  if (!meansRoot(reading.meaning, expected, mismatch))
    return false;
  if (reading.stored.isWithin(expected.stored))
    return true;
  mismatch = {9, concat("holds ", describe(reading.meaning), " in ", reading.stored.text(), ", expected ",
                        expected.stored.text())};
  return false;
}

bool EntryProof::meansRoot(const Meaning &meaning, const Value &expected, Mismatch &mismatch) const {
  const Root &root = numbering.root(expected.root);
  if (meaning.root == root.totalOf && root.totalOf != 0)
    return isTotal(meaning, expected.coefficient, /*overRepetitions=*/true, mismatch);
  if (meaning.root == root.rankTotalOf && root.rankTotalOf != 0)
    return isTotal(meaning, expected.coefficient, /*overRepetitions=*/false, mismatch);
  if (meaning.root != expected.root)
    mismatch = {9, "holds " + describe(meaning) + ", expected " + numbering.describe(expected.root)};
  else if (meaning.isSum || meaning.partial != 0)
    mismatch = {meaning.partial != 0 ? 9 : 7,
                "holds " + describe(meaning) + ", expected " + numbering.describe(expected.root)};
  else if (root.varies && meaning.last != repetition)
    mismatch = {9, concat("holds micro-batch ", meaning.last, " of ", numbering.describe(meaning.root),
                          ", expected micro-batch ", repetition)};
  else if (!areClose(meaning.coefficient, expected.coefficient))
    mismatch = {9, concat("holds ", numbering.describe(meaning.root), " times ", formatNumber(meaning.coefficient),
                          ", expected times ", formatNumber(expected.coefficient))};
  else
    return true;
  return false;
}

Multiple EntryProof::multipleOf(const Meaning &meaning) const {
  const Root &root = numbering.root(meaning.root);
  Mismatch ignored;
  if (root.total != 0 && isTotal(meaning, meaning.coefficient, /*overRepetitions=*/true, ignored))
    return {root.total, meaning.coefficient};
  // Of a value whose sum over ranks and micro-batches the program has, that is expected.
  if (meaning.isSum || meaning.partial != 0 || (root.varies && (root.total != 0 || meaning.last != repetition)))
    return {0, 0};
  return {meaning.root, meaning.coefficient};
}

std::optional<Reading> EntryProof::read(const plan::ViewT &view, bool padding) {
  std::optional<Reading> reading = contents.read(view, /*padding=*/false);
  // The next part of a concatenation is no padding of the one before it.
  if (!reading && (recognizeConcatenation(view) || padding))
    reading = contents.read(view, padding);
  if (reading && view.repetition_stride != 0)
    reading->meaning.first = reading->meaning.last = slice;
  if (!reading || !reading->isKnown())
    return reading;
  shardUniform(*reading, view);
  simplify(*reading);
  if (!excludesOnlyPadding(*reading, view))
    reading->meaning.unproved = "a valid extent leaves out elements of " + numbering.describe(reading->meaning.root);
  return reading;
}

void EntryProof::write(const plan::ViewT &view, Reading reading) {
  if (elementsOf(view.shape) == 0)
    return;
  if (reading.isKnown() && reading.meaning.root != 0) {
    shardUniform(reading, view);
    simplify(reading);
    if (!excludesOnlyPadding(reading, view))
      reading.meaning.unproved = "a valid extent leaves out elements of " + numbering.describe(reading.meaning.root);
    if (numbering.isExtreme(reading.meaning.coefficient))
      reading.meaning.unproved = describe(reading.meaning) + ", which no element type may hold";
    // Elements that are left out are not written.
    std::erase_if(reading.meaning.zeros, [&](std::int64_t end) { return leavesOut(view, reading, end); });
  }
  contents.write(view, std::move(reading));
}

void EntryProof::simplify(Reading &reading) const {
  if (reading.meaning.part == 0 && reading.meaning.bounds.empty() && reading.meaning.zeros.empty()) {
    std::ranges::sort(reading.meaning.steps);
    return;
  }
  Shard shard = reading.shard();
  std::vector<std::int64_t> &zeros = reading.meaning.zeros;
  if (reading.meaning.part != 0) {
    std::map<std::int64_t, std::int64_t> ends;
    if (std::optional<Shard> ofRoot = contents.parts.inRoot(
            reading.meaning.part, shard, numbering.root(reading.meaning.root).elements, sizes, &ends)) {
      shard = std::move(*ofRoot);
      reading.meaning.part = 0;
      std::erase_if(zeros, [&](std::int64_t end) { return !ends.contains(end); });
      std::ranges::transform(zeros, zeros.begin(), [&](std::int64_t end) { return ends[end]; });
    }
  }
  proof::simplify(shard, sizes);
  reading.setShard(std::move(shard));
  if (!zeros.empty()) {
    const std::vector<std::int64_t> ends = paddedEnds(reading);
    std::erase_if(zeros, [&](std::int64_t end) { return std::ranges::find(ends, end) == ends.end(); });
  }
}

bool EntryProof::usePart(Reading &reading) {
  if (reading.meaning.part != 0)
    return false;
  reading.meaning.part = contents.parts.of(reading.shard());
  reading.setShard({denseIndexing(shapeOf(reading.at)), {}, {}});
  return true;
}

std::vector<DimSharding> EntryProof::validShardings(const plan::ViewT &view) const {
  std::vector<DimSharding> dims;
  for (std::int64_t extent : view.shape)
    dims.push_back({{}, 1, extent});
  for (const auto &valid : view.valid) {
    DimSharding &dim = dims[valid->dim];
    dim.axes = valid->axes;
    std::erase_if(dim.axes, [&](std::uint32_t axis) { return sizes[axis] == 1; });
    dim.extent = valid->total;
  }
  return dims;
}

std::pair<Shape, std::optional<Shard>> EntryProof::validShard(const plan::ViewT &view) const {
  const std::vector<DimSharding> dims = validShardings(view);
  Shape shape = view.shape;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (dims[d].isSharded())
      shape[d] = dims[d].extent;
  return {shape, shardOf(shape, dims, sizes)};
}

void EntryProof::shardUniform(Reading &reading, const plan::ViewT &view) {
  if (view.valid.empty() || reading.meaning.part != 0 || !reading.meaning.steps.empty() ||
      numbering.root(reading.meaning.root).elements != 1)
    return;
  const Digits digits = flattened(reading.at);
  if (!digits.empty() && (digits.size() > 1 || digits[0].step != 0))
    return;
  auto [shape, shard] = validShard(view);
  if (!shard || shard->steps.empty())
    return;
  reading.meaning.part = contents.parts.of({uniformIndexing(shape), {}, {}});
  reading.setShard(std::move(*shard));
}

std::optional<Bound> EntryProof::boundOf(const plan::ValidT &valid, const Reading &reading,
                                         const plan::ViewT &view) const {
  // The dim is chunks of one digit of the root along the axes, each with all elements of the inner digits.
  const std::int64_t local = view.shape[valid.dim];
  const Digits digits = joined(reading.at.dims[valid.dim]);
  Bound bound;
  std::int64_t step = 0, next = 0;
  for (std::size_t a = valid.axes.size(); a-- > 0;) {
    const std::uint32_t axis = valid.axes[a];
    if (sizes[axis] == 1)
      continue;
    const auto own = std::ranges::find(reading.meaning.steps, axis, &AxisStep::axis);
    if (own == reading.meaning.steps.end() || (next != 0 && own->step != next))
      return std::nullopt;
    const bool isChunk = !digits.empty() && digits.front().step * digits.front().extent == own->step;
    if (next == 0)
      step = isChunk ? digits.front().step : own->step;
    next = own->step * sizes[axis];
    bound.axes |= AxisSet(1) << axis;
  }
  const bool isChunk = !digits.empty() && digits.front().step == step;
  const std::int64_t inner = local / (isChunk ? digits.front().extent : 1);
  // A result of another shape may have fewer elements than its digits.
  if (inner == 0 || valid.total % inner != 0)
    return std::nullopt;
  bound.end = valid.total / inner * step;
  return bound;
}

bool EntryProof::excludesOnlyPadding(const Reading &reading, const plan::ViewT &view) const {
  return std::ranges::all_of(view.valid, [&](const auto &valid) {
    const std::int64_t local = view.shape[valid->dim];
    if (valid->total / local >= std::int64_t(groupSize(plan, valid->axes)))
      return true;
    const std::optional<Bound> bound = boundOf(*valid, reading, view);
    return bound && (bound->end >= contents.elementsOf(reading.meaning) ||
                     std::ranges::any_of(reading.meaning.bounds, [&](const Bound &own) {
                       return own.end == bound->end && (bound->axes & ~own.axes) == 0;
                     }));
  });
}

std::vector<std::int64_t> EntryProof::paddedEnds(const Reading &reading) const {
  return proof::paddedEnds(reading.shard(), contents.elementsOf(reading.meaning), sizes);
}

bool EntryProof::leavesOut(const plan::ViewT &view, const Reading &reading, std::int64_t end) const {
  // The valid extent counts from the first element of the view.
  return levelBase(reading.meaning.bounds, end, reading.at.base) == 0 &&
         std::ranges::any_of(view.valid, [&](const auto &valid) {
           const std::optional<Bound> bound = boundOf(*valid, reading, view);
           return bound && bound->end == end;
         });
}

std::optional<Indexing> EntryProof::elementsOfAll(const Reading &reading) const {
  const std::int64_t elements = numbering.root(reading.meaning.root).elements;
  if (reading.meaning.part == 0)
    return proof::elementsOfAll(reading.shard(), elements, sizes);
  const Part &part = contents.parts[reading.meaning.part];
  return coversOnce(reading.shard(), part.elements(), sizes) ? proof::elementsOfAll(part.shard, elements, sizes)
                                                             : std::nullopt;
}

std::vector<std::uint32_t> EntryProof::axesOf(const Meaning &meaning) const {
  std::vector<AxisStep> steps = meaning.steps;
  if (meaning.part != 0)
    std::ranges::copy(contents.parts[meaning.part].shard.steps, std::back_inserter(steps));
  std::vector<std::uint32_t> axes(steps.size());
  std::ranges::transform(steps, axes.begin(), &AxisStep::axis);
  std::ranges::sort(axes);
  return axes;
}

bool EntryProof::validAgrees(const plan::ViewT &view, std::span<const DimSharding> dims, const Shape &shape) const {
  return std::ranges::all_of(view.valid, [&](const auto &valid) {
    std::vector<std::uint32_t> axes = valid->axes;
    std::erase_if(axes, [&](std::uint32_t axis) { return sizes[axis] == 1; });
    return valid->dim < dims.size() && axes == dims[valid->dim].axes && valid->total == shape[valid->dim] &&
           dims[valid->dim].segments == 1;
  });
}

std::optional<Match> EntryProof::matchReading(Reading reading, std::uint32_t id, Mismatch &mismatch,
                                              bool allowsTerms) const {
  if (!reading.isKnown()) {
    mismatch = Mismatch::unknown(reading.meaning.unproved);
    return std::nullopt;
  }
  const Value &expected = numbering.value(id);
  if (expected.root == 0) {
    mismatch = {9, "the unsharded program uses a value before it defines it", true};
    return std::nullopt;
  }
  Meaning &meaning = reading.meaning;
  const AxisSet partial = meaning.partial;
  if (allowsTerms && !meaning.isSum)
    meaning.partial = 0;
  if (!means(reading, expected, mismatch))
    return std::nullopt;
  meaning.partial = partial;
  Indexing ofPart;
  const Indexing *global = &expected.at;
  if (meaning.part != 0) {
    // The part is the value itself, on every rank.
    const Shard &part = contents.parts[meaning.part].shard;
    if (!part.steps.empty() || !part.bounds.empty() || part.at.base != global->base ||
        part.at.dims.front() != flattened(*global)) {
      mismatch = {9, "holds a part of " + numbering.describe(expected.root), true, true};
      return std::nullopt;
    }
    ofPart = denseIndexing(shapeOf(*global));
    global = &ofPart;
  }
  std::optional<std::vector<DimSharding>> dims =
      shardingBetween(reading.shard(), *global, contents.elementsOf(meaning), sizes);
  if (!dims) {
    // The numbers of equal elements are right in any layout.
    const Digits all = flattened(*global);
    const bool isUniform = std::ranges::all_of(all, [](const Digit &digit) { return digit.step == 0; });
    mismatch = {9,
                "holds other elements of " + numbering.describe(expected.root) + " than " +
                    numbering.describeValue(id) + " or a shard of it has",
                isUniform, isUniform};
    return std::nullopt;
  }
  const bool hasZeros = !meaning.zeros.empty() && meaning.zeros == paddedEnds(reading);
  return Match{std::move(reading), std::move(*dims), hasZeros};
}

std::optional<Match> EntryProof::match(const plan::ViewT &view, std::uint32_t id, Mismatch &mismatch,
                                       bool allowsTerms) {
  if (id == 0 || id >= numbering.valueCount()) {
    mismatch = {9, "the unsharded program has no such operand", true};
    return std::nullopt;
  }
  const bool isConcatenation = !numbering.root(numbering.value(id).root).parts.empty();
  // The next part of a concatenation is no padding of the one before it.
  std::optional<Reading> reading = read(view, !isConcatenation);
  const auto matched = [&](Reading own) {
    std::optional<Match> found = matchReading(std::move(own), id, mismatch, allowsTerms);
    if (found && !validAgrees(view, found->dims, numbering.type(id).shape)) {
      mismatch = {8, "has a valid extent that is not that of its shard of " + numbering.describeValue(id), true};
      found.reset();
    }
    for (const auto &valid : view.valid)
      if (found)
        found->validDims |= std::uint64_t(1) << valid->dim;
    return found;
  };
  if (reading && (reading->meaning.root == numbering.value(id).root || !reading->meaning.unproved.empty()))
    return matched(std::move(*reading));
  if (isConcatenation) {
    std::optional<Match> found = matchConcatenation(view, id, mismatch);
    // The view may be a part of it.
    if (found || !recognizeConcatenation(view, numbering.value(id).root) || !(reading = read(view, /*padding=*/false)))
      return found;
    return matched(std::move(*reading));
  }
  if (!reading) {
    mismatch = {9, "the content of '" + plan.buffers[view.buffer]->name + "' is not known", true};
    return std::nullopt;
  }
  return matched(std::move(*reading));
}

} // namespace sluice::check::proof
