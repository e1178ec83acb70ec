//===- Concatenations.cpp - concatenations of tensors next to each other ------------------===//
//
// No launch computes a concatenation whose operands are written to their places in it: where it is read, or a view of
// it with other strides, its parts hold the operands.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace sluice::check::proof {

bool EntryProof::holdsConcatenation(plan::ViewT window, std::int64_t elements, std::uint32_t id) {
  window.valid.clear();
  window.strides.clear();
  const Shape shape = numbering.type(id).shape;
  // Ranks may divide one dim.
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t others = elementsOf(shape) / shape[d];
    window.shape = shape;
    window.shape[d] = elements / others;
    Mismatch ignored;
    if (elements > 0 && elements % others == 0 && matchConcatenation(window, id, ignored))
      return true;
  }
  return false;
}

bool EntryProof::recognizeConcatenation(const plan::ViewT &view, RootId wanted) {
  const std::uint64_t bytes = dtypeBytes(baseType(view.dtype));
  const auto offset = std::int64_t(view.offset / bytes), end = std::int64_t(plan.buffers[view.buffer]->bytes / bytes);
  // The first operand, and the elements from it to the last one of the view; or of the buffer, of which it is a part.
  std::vector<std::pair<RootId, std::int64_t>> first;
  for (const Fact &fact : contents.of(view.buffer))
    if (fact.meaning.unproved.empty() && (fact.offset == offset || wanted != 0))
      first.push_back({fact.meaning.root, fact.offset});
  for (const auto &[root, begin] : first)
    for (std::uint32_t id : numbering.concatenationsOf(root)) {
      plan::ViewT window(view);
      window.offset = std::uint64_t(begin) * bytes;
      if (wanted == 0 ? holdsConcatenation(window, std::int64_t(viewBytes(view).value_or(0) / bytes), id)
                      : numbering.value(id).root == wanted && holdsConcatenation(window, end - begin, id))
        return true;
    }
  return false;
}

std::optional<Match> EntryProof::matchConcatenation(const plan::ViewT &view, std::uint32_t id, Mismatch &mismatch) {
  const Value &expected = numbering.value(id);
  const Root &root = numbering.root(expected.root);
  const plan::ProgramTypeT &type = numbering.type(id);
  const std::size_t dim = root.dim;
  const bool isView = root.value != id && expected.at != denseIndexing(numbering.type(root.value).shape);
  if (isView || view.shape.size() != type.shape.size() || dim >= view.shape.size()) {
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
  Storage stored;
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
    stored.add(found->reading.stored);
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
  reading.stored = stored;
  reading.setShard(std::move(*shard));
  if (hasZeros)
    reading.meaning.zeros = paddedEnds(reading);
  write(view, reading);
  return Match{std::move(reading), std::move(first->dims)};
}

} // namespace sluice::check::proof
