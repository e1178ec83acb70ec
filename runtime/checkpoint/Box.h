//===- Box.h - rectangular parts of a tensor -----------------------------------------===//
//
// A file of a checkpoint has rectangular parts of tensors, as PyTorch's distributed checkpoints do. The elements of a
// rank may be several of them: one for each segment of a fused parameter, and up to 2 n - 1 for a range of elements of
// a tensor with n dims.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CHECKPOINT_BOX_H
#define SLUICE_RUNTIME_CHECKPOINT_BOX_H

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

using Extents = std::vector<std::int64_t>;

/// Elements [offset, offset + shape) of a tensor, dim by dim.
struct Box {
  Extents offset;
  Extents shape;

  std::uint64_t elements() const;
  bool operator==(const Box &) const = default;
};

/// Elements [begin, begin + count) of a tensor, row-major.
struct ElementRange {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

/// The elements of ascending disjoint ranges as few disjoint boxes, in order of their first elements.
std::vector<Box> boxesOf(const std::vector<ElementRange> &ranges, const Extents &tensor);

/// Where an element of the tensor is in the box (row-major), and how many elements from there are contiguous in both;
/// nullopt for an element that is not in the box.
std::optional<ElementRange> findInBox(const Box &box, const Extents &tensor, std::uint64_t element);

/// The contiguous ranges of the tensor that are the box's elements in its row-major order.
std::vector<ElementRange> rangesOf(const Box &box, const Extents &tensor);

/// True if the boxes have every element of the tensor exactly once.
bool coversOnce(std::span<const Box> boxes, const Extents &tensor);

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_BOX_H
