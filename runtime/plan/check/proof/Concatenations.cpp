//===- Concatenations.cpp - concatenations of tensors next to each other ------------------===//
//
// No launch computes a concatenation whose operands are written to their places in it: where it is read, its parts hold
// the operands. A view of the result is read as the result with other strides.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/base/Text.h"

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
    mismatch = {9, "a part of a concatenation is read", true, true};
    return std::nullopt;
  }
  if (!match(*full, result, mismatch))
    return std::nullopt;
  std::optional<Reading> reading = read(view, /*padding=*/false);
  if (!reading || reading->meaning.root != expected.root) {
    mismatch = {9, "a concatenation is not known", true, true};
    return std::nullopt;
  }
  return matchReading(std::move(*reading), id, mismatch, /*allowsTerms=*/false);
}

bool EntryProof::recognizeConcatenation(const plan::ViewT &view) {
  if (!isDense(view))
    return false;
  const std::int64_t offset = std::int64_t(view.offset / dtypeBytes(baseType(view.dtype))),
                     elements = elementsOf(view.shape);
  std::vector<RootId> roots;
  for (const Fact &fact : contents.of(view.buffer))
    if (fact.offset == offset && fact.meaning.unproved.empty())
      roots.push_back(fact.meaning.root);
  for (RootId root : roots)
    for (std::uint32_t id : numbering.concatenationsOf(root)) {
      plan::ViewT full(view);
      full.valid.clear();
      full.strides.clear();
      const Shape shape = numbering.type(id).shape;
      // Ranks may divide one dim.
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const std::int64_t others = elementsOf(shape) / shape[d];
        full.shape = shape;
        full.shape[d] = elements / others;
        Mismatch ignored;
        if (elements % others == 0 && matchConcatenation(full, id, ignored))
          return true;
      }
    }
  return false;
}

std::optional<Match> EntryProof::matchConcatenation(const plan::ViewT &view, std::uint32_t id, Mismatch &mismatch) {
  const Value &expected = numbering.value(id);
  const Root &root = numbering.root(expected.root);
  const plan::ProgramTypeT &type = numbering.type(id);
  const std::size_t dim = root.dim;
  if (root.value != id && expected.at != denseIndexing(numbering.type(root.value).shape))
    return matchViewOfParts(view, id, mismatch);
  if (view.shape.size() != type.shape.size() || dim >= view.shape.size()) {
    mismatch = {9, "a part of a concatenation is read", true, true};
    return std::nullopt;
  }
  const std::vector<std::uint32_t> parts = root.parts;
  plan::ViewT part(view);
  part.valid.clear();
  if (part.strides.empty()) {
    part.strides.resize(part.shape.size());
    std::int64_t stride = 1;
    for (std::size_t d = part.shape.size(); d-- > 0; stride *= part.shape[d])
      part.strides[d] = stride;
  }
  const std::uint64_t row = std::uint64_t(part.strides[dim]) * dtypeBytes(baseType(view.dtype));
  // Ranks may have a chunk of each part, if the parts have one extent: the parts are segments of the result.
  const std::int64_t extent = numbering.type(parts.front()).shape[dim], count = std::int64_t(parts.size());
  const bool isEven =
      std::ranges::all_of(parts, [&](std::uint32_t operand) { return numbering.type(operand).shape[dim] == extent; });
  std::optional<Match> first;
  bool hasZeros = true;
  for (std::uint32_t operand : parts) {
    part.shape[dim] = isEven ? view.shape[dim] / count : numbering.type(operand).shape[dim];
    std::optional<Match> found = match(part, operand, mismatch);
    if (!found)
      return std::nullopt;
    const bool isLike = !first || std::ranges::equal(found->dims, first->dims, [&](const auto &a, const auto &b) {
      return (a.isSame(b) || (!isEven && &a - found->dims.data() == std::ptrdiff_t(dim)));
    });
    if (!isLike || found->dims[dim].segments != 1 || (!isEven && found->dims[dim].isSharded())) {
      mismatch = {9, "a concatenation of different shards", true, true};
      return std::nullopt;
    }
    part.offset += row * std::uint64_t(part.shape[dim]);
    hasZeros = hasZeros && found->hasZeros;
    first = first ? first : std::move(found);
  }
  DimSharding &along = first->dims[dim];
  along.isUniform = false;
  along.local = view.shape[dim];
  if (along.isSharded())
    along.segments = count;
  std::optional<Shard> shard = shardOf(type.shape, first->dims, sizes);
  if (!shard || shapeOf(shard->at) != view.shape) {
    mismatch = {9, "a concatenation of shards", true, true};
    return std::nullopt;
  }
  Reading reading;
  reading.meaning.root = expected.root;
  reading.meaning.first = reading.meaning.last = repetition;
  reading.setShard(std::move(*shard));
  if (hasZeros)
    reading.meaning.zeros = paddedEnds(reading);
  write(view, reading);
  return Match{std::move(reading), std::move(first->dims)};
}

} // namespace sluice::check::proof
