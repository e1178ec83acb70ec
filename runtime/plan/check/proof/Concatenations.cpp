//===- Concatenations.cpp - views of concatenations of tensors next to each other ---------===//
//
// No launch computes a concatenation whose operands are written to their places in it. A view of the result is read as
// the result with other strides.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include <algorithm>
#include <functional>

namespace sluice::check::proof {

/// The window of a tensor of `shape`, of which the window `view` has all elements, at the indices `at`. nullopt if it
/// has others, or no regular strides.
static std::optional<plan::ViewT> fullWindow(const plan::ViewT &view, const Indexing &at, const Shape &shape) {
  struct Place {
    std::int64_t step, extent, stride;
  };
  std::vector<Place> places;
  std::int64_t dense = 1;
  for (std::size_t d = view.shape.size(); d-- > 0; dense *= view.shape[d]) {
    std::int64_t stride = view.strides.empty() ? dense : view.strides[d];
    for (std::size_t k = at.dims[d].size(); k-- > 0;) {
      const Digit &digit = at.dims[d][k];
      places.push_back({digit.step, digit.extent, stride});
      stride *= digit.extent;
    }
  }
  std::ranges::sort(places, std::greater(), &Place::step);
  Indexing strides;
  strides.dims.emplace_back();
  std::int64_t expected = 1;
  for (const Place &place : places) {
    if (place.extent > 1)
      strides.dims[0].push_back({place.extent, place.stride});
  }
  for (std::size_t k = places.size(); k-- > 0;) {
    if (places[k].extent == 1)
      continue;
    if (places[k].step != expected)
      return std::nullopt;
    expected *= places[k].extent;
  }
  // The digits of each dim are distances in the buffer instead of indices.
  std::optional<Indexing> full = reshaped(strides, shape);
  if (at.base != 0 || expected != elementsOf(shape) || !full)
    return std::nullopt;
  plan::ViewT result(view);
  result.shape = shape;
  result.strides.assign(shape.size(), 0);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const Digits digits = joined(full->dims[d]);
    if (digits.size() > 1)
      return std::nullopt;
    result.strides[d] = digits.empty() ? 1 : digits[0].step;
  }
  return result;
}

std::optional<Match> EntryProof::matchViewOfParts(const plan::ViewT &view, std::uint32_t id, Mismatch &mismatch) {
  const Value &expected = numbering.value(id);
  const std::uint32_t result = numbering.root(expected.root).value;
  std::optional<plan::ViewT> full;
  if (shapeOf(expected.at) == view.shape && view.valid.empty() && view.repetition_stride == 0)
    full = fullWindow(view, expected.at, numbering.type(result).shape);
  if (!full) {
    mismatch = {9, "a part of a concatenation is read", true};
    return std::nullopt;
  }
  if (!match(*full, result, mismatch))
    return std::nullopt;
  std::optional<Reading> reading = read(view, /*padding=*/false);
  if (!reading || reading->meaning.root != expected.root) {
    mismatch = {9, "a concatenation is not known", true};
    return std::nullopt;
  }
  return matchReading(std::move(*reading), id, mismatch, /*allowsTerms=*/false);
}

} // namespace sluice::check::proof
