//===- Box.cpp - rectangular parts of a tensor ---------------------------------------===//
#include "runtime/checkpoint/Box.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace sluice {

/// Elements of the dims after `dim`.
static std::uint64_t strideOf(const Extents &tensor, std::size_t dim) {
  std::uint64_t stride = 1;
  for (std::size_t d = dim + 1; d < tensor.size(); ++d)
    stride *= static_cast<std::uint64_t>(tensor[d]);
  return stride;
}

std::uint64_t Box::elements() const {
  std::uint64_t count = 1;
  for (std::int64_t extent : shape)
    count *= static_cast<std::uint64_t>(extent);
  return count;
}

/// Appends [begin, end), which is within one index of each dim before `dim`, as boxes.
static void cutRange(std::uint64_t begin, std::uint64_t end, const Extents &tensor, std::size_t dim,
                     std::vector<Box> &boxes) {
  if (begin >= end)
    return;
  if (dim == tensor.size()) {
    boxes.push_back({Extents(), Extents()});
    return;
  }
  const std::uint64_t stride = strideOf(tensor, dim);
  const std::uint64_t first = (begin + stride - 1) / stride * stride, last = end / stride * stride;
  cutRange(begin, std::min(first, end), tensor, dim + 1, boxes);
  if (first < last) {
    Box box{Extents(tensor.size()), tensor};
    for (std::size_t d = 0; d <= dim; ++d) {
      box.offset[d] = static_cast<std::int64_t>(first / strideOf(tensor, d) % static_cast<std::uint64_t>(tensor[d]));
      box.shape[d] = 1;
    }
    box.shape[dim] = static_cast<std::int64_t>((last - first) / stride);
    boxes.push_back(std::move(box));
  }
  cutRange(std::max(last, first), end, tensor, dim + 1, boxes);
}

/// Joins boxes that are adjacent along `dim` and equal in all other dims.
static std::vector<Box> joinAlong(std::vector<Box> boxes, std::size_t dim) {
  std::map<std::pair<Extents, Extents>, std::size_t> latest;
  std::vector<Box> joined;
  for (Box &box : boxes) {
    std::pair<Extents, Extents> key(box.offset, box.shape);
    key.first[dim] = key.second[dim] = 0;
    const auto [at, isNew] = latest.try_emplace(std::move(key), joined.size());
    if (!isNew) {
      Box &before = joined[at->second];
      if (before.offset[dim] + before.shape[dim] == box.offset[dim]) {
        before.shape[dim] += box.shape[dim];
        continue;
      }
      at->second = joined.size();
    }
    joined.push_back(std::move(box));
  }
  return joined;
}

std::vector<Box> boxesOf(const std::vector<ElementRange> &ranges, const Extents &tensor) {
  std::vector<Box> boxes;
  for (std::size_t i = 0; i < ranges.size();) {
    std::uint64_t begin = ranges[i].begin, end = begin;
    for (; i < ranges.size() && ranges[i].begin == end; ++i)
      end += ranges[i].count;
    cutRange(begin, end, tensor, 0, boxes);
  }
  for (std::size_t dim = tensor.size(); dim-- > 0;)
    boxes = joinAlong(std::move(boxes), dim);
  return boxes;
}

std::optional<ElementRange> findInBox(const Box &box, const Extents &tensor, std::uint64_t element) {
  ElementRange found{0, 1};
  // Elements up to the end of the box's range of a dim, of which all later dims are complete.
  bool isComplete = true;
  std::uint64_t stride = 1, inBox = 1, rest = element;
  for (std::size_t d = tensor.size(); d-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(tensor[d]), first = static_cast<std::uint64_t>(box.offset[d]),
               size = static_cast<std::uint64_t>(box.shape[d]);
    const std::uint64_t index = rest % extent;
    rest /= extent;
    if (index < first || index >= first + size)
      return std::nullopt;
    if (isComplete)
      found.count = (first + size) * stride - element % (extent * stride);
    isComplete = isComplete && size == extent;
    found.begin += (index - first) * inBox;
    stride *= extent;
    inBox *= size;
  }
  return found;
}

std::vector<ElementRange> rangesOf(const Box &box, const Extents &tensor) {
  std::uint64_t element = 0;
  for (std::size_t d = 0; d < tensor.size(); ++d)
    element += static_cast<std::uint64_t>(box.offset[d]) * strideOf(tensor, d);
  std::vector<ElementRange> ranges;
  for (std::uint64_t left = box.elements(); left != 0;) {
    const std::uint64_t count = findInBox(box, tensor, element)->count;
    ranges.push_back({element, count});
    left -= count;
    // The next element of the box: `count` ends at the box's end of some dims, so the element after it is in a later
    // index of an earlier dim.
    std::uint64_t place = box.elements() - left;
    element = 0;
    for (std::size_t d = tensor.size(); d-- > 0;) {
      const auto size = static_cast<std::uint64_t>(box.shape[d]);
      element += (static_cast<std::uint64_t>(box.offset[d]) + place % size) * strideOf(tensor, d);
      place /= size;
    }
  }
  return ranges;
}

bool coversOnce(std::span<const Box> boxes, const Extents &tensor) {
  std::uint64_t elements = 0;
  for (const Box &box : boxes) {
    for (std::size_t d = 0; d < tensor.size(); ++d)
      if (box.offset[d] < 0 || box.shape[d] < 1 || box.offset[d] > tensor[d] - box.shape[d])
        return false;
    elements += box.elements();
  }
  if (elements != Box{Extents(tensor.size()), tensor}.elements())
    return false;
  // Only boxes that overlap along the dim with the most offsets need a comparison.
  std::size_t sweep = 0, most = 0;
  for (std::size_t d = 0; d < tensor.size(); ++d) {
    std::set<std::int64_t> offsets;
    for (const Box &box : boxes)
      offsets.insert(box.offset[d]);
    if (offsets.size() > most) {
      most = offsets.size();
      sweep = d;
    }
  }
  std::vector<const Box *> order;
  for (const Box &box : boxes)
    order.push_back(&box);
  if (!tensor.empty())
    std::sort(order.begin(), order.end(),
              [&](const Box *a, const Box *b) { return a->offset[sweep] < b->offset[sweep]; });
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      const Box &a = *order[i], &b = *order[j];
      if (!tensor.empty() && b.offset[sweep] >= a.offset[sweep] + a.shape[sweep])
        break;
      bool isDisjoint = false;
      for (std::size_t d = 0; d < tensor.size(); ++d)
        isDisjoint = isDisjoint || a.offset[d] + a.shape[d] <= b.offset[d] || b.offset[d] + b.shape[d] <= a.offset[d];
      if (!isDisjoint)
        return false;
    }
  return true;
}

} // namespace sluice
