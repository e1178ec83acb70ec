//===- Indexing.h - where the elements of a tensor are in another one ----------------------===//
//
// Views, shards and windows are affine: an element's index in a buffer and in the unsharded value that it belongs to
// are sums of digits times steps. A dim of a tensor is a list of digits, outermost first. Indices of a value are those
// of its elements in row-major order, so a reshape changes no index, and a transpose only exchanges digits.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_PROOF_INDEXING_H
#define SLUICE_RUNTIME_PLAN_CHECK_PROOF_INDEXING_H

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice::check::proof {

struct Digit {
  std::int64_t extent = 1;
  std::int64_t step = 0;
  bool operator==(const Digit &) const = default;
};
using Digits = std::vector<Digit>;
using Shape = std::vector<std::int64_t>;

/// Without digits of extent 1, neighbours joined where the outer step continues the inner digit.
Digits joined(const Digits &digits);

/// The indices of a tensor's elements in its root: `base` plus the digits of each dim.
struct Indexing {
  std::int64_t base = 0;
  std::vector<Digits> dims;
  bool operator==(const Indexing &) const = default;
};

std::int64_t elementsOf(std::span<const std::int64_t> shape);
std::int64_t extentOf(const Digits &digits);
Shape shapeOf(const Indexing &indexing);

/// All elements in row-major order.
Indexing denseIndexing(std::span<const std::int64_t> shape);
/// All elements are the root's only element.
Indexing uniformIndexing(std::span<const std::int64_t> shape);

/// nullopt if an extent of the shape is not a product of digits.
std::optional<Indexing> reshaped(const Indexing &indexing, std::span<const std::int64_t> shape);
/// Result dim i is dim permutation[i]. nullopt if it is not a permutation.
std::optional<Indexing> transposed(const Indexing &indexing, std::span<const std::int64_t> permutation);
/// Dims of extent 1 and missing leading dims repeat. nullopt if the shapes do not broadcast.
std::optional<Indexing> broadcasted(const Indexing &indexing, std::span<const std::int64_t> shape);
/// `count` elements of `dim` from `first`, at distance `step`. nullopt if they are not inside, or not digits.
std::optional<Indexing> sliced(const Indexing &indexing, std::size_t dim, std::int64_t first, std::int64_t count,
                               std::int64_t step);

/// The index of a rank's first element grows by `step` with the coordinate along `axis`.
struct AxisStep {
  std::uint32_t axis = 0;
  std::int64_t step = 0;
  bool operator==(const AxisStep &) const = default;
  auto operator<=>(const AxisStep &) const = default;
};

/// How a dim of a value is divided over ranks: `segments` equal parts, each in chunks along `axes`, the first
/// outermost.
struct DimSharding {
  std::vector<std::uint32_t> axes;
  std::int64_t segments = 1;
  /// Extent on one rank, all segments together.
  std::int64_t local = 0;
  /// All elements along the dim are equal: the extent may be that of any sharding.
  bool isUniform = false;
  bool isSharded() const { return !axes.empty(); }
};

/// The sharding by which `local`, with the steps of the ranks, is the tensor `global`. `sizes`: of the axes. nullopt if
/// it is no shard of it.
std::optional<std::vector<DimSharding>> shardingBetween(const Indexing &local, std::span<const AxisStep> steps,
                                                        const Indexing &global, std::span<const std::uint32_t> sizes);

/// All digits of a tensor, as those of one dim.
Digits flattened(const Indexing &at);

/// True if the shards of all ranks along the axes of `steps` are each of `elements` elements once, and padding.
bool coversOnce(const Indexing &local, std::span<const AxisStep> steps, std::int64_t elements,
                std::span<const std::uint32_t> sizes);

/// The part of a dense tensor that a rank has by `dims`, and its steps, which are appended to `steps`.
Indexing shardIndexing(std::span<const std::int64_t> shape, std::span<const DimSharding> dims,
                       std::span<const std::uint32_t> sizes, std::vector<AxisStep> &steps);

} // namespace sluice::check::proof

#endif // SLUICE_RUNTIME_PLAN_CHECK_PROOF_INDEXING_H
