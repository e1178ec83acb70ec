//===- Matching.cpp - compares what a tensor holds with a value of the program --------------===//
//
// See EntryProof.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cmath>

namespace sluice::check::proof {

bool areClose(double a, double b) { return a == b || std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b)); }

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
    // Before the last repetition an op may read a part of a sum, which the plan adds to the rest later.
    mismatch.isUnknown = repetition + 1 < repeat;
    mismatch.text = concat("misses micro-batch ", first > wantedFirst ? wantedFirst : wantedLast, " of ", of);
  } else if (first < wantedFirst || last > wantedLast)
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

bool EntryProof::means(const Meaning &meaning, const Value &expected, Mismatch &mismatch) const {
  const Root &root = numbering.root(expected.root);
  if (!root.unproved.empty()) {
    mismatch = {9, root.unproved, true};
    return false;
  }
  if (meaning.root == root.totalOf && root.totalOf != 0)
    return isTotal(meaning, expected.coefficient, /*overRepetitions=*/true, mismatch);
  if (meaning.root == root.rankTotalOf && root.rankTotalOf != 0)
    return isTotal(meaning, expected.coefficient, /*overRepetitions=*/false, mismatch);
  if (meaning.root != expected.root)
    mismatch = {9, "holds " + describe(meaning) + ", expected " + numbering.describe(expected.root)};
  else if (meaning.isSum || meaning.partial != 0)
    mismatch = {meaning.partial != 0 ? 9 : 7,
                "holds " + describe(meaning) + ", expected " + numbering.describe(expected.root)};
  else if (root.varies && (meaning.first != repetition || meaning.last != repetition))
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
  if (meaning.isSum || meaning.partial != 0 || root.varies)
    return {0, 0};
  return {meaning.root, meaning.coefficient};
}

std::optional<Reading> EntryProof::read(const plan::ViewT &view, bool padding) const {
  std::optional<Reading> reading = contents.read(view, padding);
  if (reading && view.repetition_stride != 0)
    reading->meaning.first = reading->meaning.last = slice;
  if (reading && reading->meaning.unproved.empty() && !excludesOnlyPadding(*reading, view))
    reading->meaning.unproved = "a valid extent leaves out elements of " + numbering.describe(reading->meaning.root);
  return reading;
}

void EntryProof::write(const plan::ViewT &view, Reading reading) {
  if (reading.meaning.unproved.empty() && reading.meaning.root != 0 && !excludesOnlyPadding(reading, view))
    reading.meaning.unproved = "a valid extent leaves out elements of " + numbering.describe(reading.meaning.root);
  contents.write(view, std::move(reading));
}

bool EntryProof::excludesOnlyPadding(const Reading &reading, const plan::ViewT &view) const {
  for (const auto &valid : view.valid) {
    const std::int64_t local = view.shape[valid->dim], ranks = std::int64_t(groupSize(plan, valid->axes));
    if (valid->chunk == local && valid->total / local >= ranks)
      continue;
    // The dim is the outermost of the root, in chunks along the axes: the excluded elements are past its last one.
    const Digits digits = joined(reading.at.dims[valid->dim]);
    if (valid->chunk != local || digits.size() != 1)
      return false;
    std::int64_t step = local * digits[0].step;
    for (std::size_t a = valid->axes.size(); a-- > 0;) {
      const std::uint32_t axis = valid->axes[a];
      if (sizes[axis] > 1 &&
          std::ranges::find(reading.meaning.steps, AxisStep{axis, step}) == reading.meaning.steps.end())
        return false;
      step *= sizes[axis];
    }
    if (valid->total * digits[0].step < numbering.root(reading.meaning.root).elements)
      return false;
  }
  return true;
}

bool EntryProof::validAgrees(const plan::ViewT &view, std::span<const DimSharding> dims, const Shape &shape) const {
  return std::ranges::all_of(view.valid, [&](const auto &valid) {
    std::vector<std::uint32_t> axes = valid->axes;
    std::erase_if(axes, [&](std::uint32_t axis) { return sizes[axis] == 1; });
    return valid->dim < dims.size() && axes == dims[valid->dim].axes && valid->chunk == dims[valid->dim].local &&
           valid->total == shape[valid->dim] && dims[valid->dim].segments == 1;
  });
}

std::optional<Match> EntryProof::matchReading(Reading reading, std::uint32_t id, Mismatch &mismatch) const {
  if (!reading.meaning.unproved.empty()) {
    mismatch = {9, reading.meaning.unproved, true};
    return std::nullopt;
  }
  const Value &expected = numbering.value(id);
  if (expected.root == 0) {
    mismatch = {9, "the unsharded program uses a value before it defines it", true};
    return std::nullopt;
  }
  if (!means(reading.meaning, expected, mismatch))
    return std::nullopt;
  std::optional<std::vector<DimSharding>> dims = shardingBetween(reading.at, reading.meaning.steps, expected.at, sizes);
  if (!dims) {
    mismatch = {9,
                "holds other elements of " + numbering.describe(expected.root) + " than " +
                    numbering.describeValue(id) + " or a shard of it has",
                // All elements of a root of one element are equal, so they do not show the shard.
                numbering.root(expected.root).elements == 1};
    return std::nullopt;
  }
  return Match{std::move(reading), std::move(*dims)};
}

std::optional<Match> EntryProof::match(const plan::ViewT &view, std::uint32_t id, Mismatch &mismatch) {
  if (id == 0 || id >= numbering.valueCount()) {
    mismatch = {9, "the unsharded program has no such operand", true};
    return std::nullopt;
  }
  const bool isConcatenation = !numbering.root(numbering.value(id).root).parts.empty();
  // The next part of a concatenation is no padding of the one before it.
  std::optional<Reading> reading = read(view, !isConcatenation);
  const auto matched = [&](Reading own) {
    std::optional<Match> found = matchReading(std::move(own), id, mismatch);
    if (found && !validAgrees(view, found->dims, numbering.type(id).shape)) {
      mismatch = {8, "has a valid extent that is not that of its shard of " + numbering.describeValue(id), true};
      found.reset();
    }
    return found;
  };
  if (reading && (reading->meaning.root == numbering.value(id).root || !reading->meaning.unproved.empty()))
    return matched(std::move(*reading));
  if (isConcatenation)
    return matchParts(view, id, mismatch);
  if (!reading) {
    mismatch = {9, "the content of '" + plan.buffers[view.buffer]->name + "' is not known", true};
    return std::nullopt;
  }
  return matched(std::move(*reading));
}

std::optional<Match> EntryProof::matchParts(const plan::ViewT &view, std::uint32_t id, Mismatch &mismatch) {
  const Value &expected = numbering.value(id);
  const Root &root = numbering.root(expected.root);
  const plan::ProgramTypeT &type = numbering.type(id);
  // The result of a concatenation, itself and unsharded; views of it are read after it was recognized.
  if (expected.at != denseIndexing(type.shape) || view.shape != type.shape || root.dim >= view.shape.size()) {
    mismatch = {9, "a part of a concatenation is read", true};
    return std::nullopt;
  }
  const std::vector<std::uint32_t> parts = root.parts;
  const std::size_t dim = root.dim;
  plan::ViewT part(view);
  if (part.strides.empty()) {
    part.strides.resize(part.shape.size());
    std::int64_t stride = 1;
    for (std::size_t d = part.shape.size(); d-- > 0; stride *= part.shape[d])
      part.strides[d] = stride;
  }
  const std::uint64_t row = std::uint64_t(part.strides[dim]) * dtypeBytes(baseType(view.dtype));
  for (std::uint32_t operand : parts) {
    if (dim >= numbering.type(operand).shape.size())
      return std::nullopt;
    part.shape[dim] = numbering.type(operand).shape[dim];
    const std::optional<Match> found = match(part, operand, mismatch);
    if (!found)
      return std::nullopt;
    if (std::ranges::any_of(found->dims, &DimSharding::isSharded) || part.shape != numbering.type(operand).shape) {
      mismatch = {9, "a concatenation of shards", true};
      return std::nullopt;
    }
    part.offset += row * std::uint64_t(part.shape[dim]);
  }
  Reading reading;
  reading.meaning.root = expected.root;
  reading.meaning.first = reading.meaning.last = repetition;
  reading.at = expected.at;
  write(view, reading);
  std::vector<DimSharding> dims;
  for (std::int64_t extent : view.shape)
    dims.push_back({{}, 1, extent, false});
  return Match{std::move(reading), std::move(dims)};
}

} // namespace sluice::check::proof
