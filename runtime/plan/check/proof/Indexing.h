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

/// A bit for each axis of the mesh.
using AxisSet = std::uint64_t;

/// The index of a rank's first element grows by `step` with the coordinate along `axis`.
struct AxisStep {
  std::uint32_t axis = 0;
  std::int64_t step = 0;
  bool operator==(const AxisStep &) const = default;
  auto operator<=>(const AxisStep &) const = default;
};

/// The elements of a shard for which the sum of the digits with steps below `end`, of the steps of `axes`, and of the
/// first element's place in the level (levelBase) is `end` or more are padding: they would be past the last element of
/// a dim. Elements past the last one of the root are padding without a bound. `axes` has all axes with steps below
/// `end`, and those of chunks past the end, whose steps may be `end` or more.
struct Bound {
  std::int64_t end = 0;
  AxisSet axes = 0;
  bool operator==(const Bound &) const = default;
  auto operator<=>(const Bound &) const = default;

  bool has(const Digit &digit) const { return digit.step < end; }
  bool has(const AxisStep &own) const { return axes >> own.axis & 1; }
  /// True if the dim ends between two digits.
  bool separates(std::int64_t outerStep, std::int64_t innerStep) const { return innerStep < end && outerStep >= end; }
};

/// Of an index, the sum of the digits with steps below `end`: the remainder after the larger ends of the bounds, which
/// are sorted.
std::int64_t levelBase(std::span<const Bound> bounds, std::int64_t end, std::int64_t index);

/// As joined(), but digits inside the level of a bound are not joined with those outside of it: the digits of a level
/// may pass its extent.
Digits joined(const Digits &digits, std::span<const Bound> bounds);

/// The indices of a tensor's elements in its root: `base` plus the digits of each dim.
struct Indexing {
  std::int64_t base = 0;
  std::vector<Digits> dims;
  bool operator==(const Indexing &) const = default;
};

std::int64_t elementsOf(std::span<const std::int64_t> shape);
std::int64_t extentOf(const Digits &digits);
Shape shapeOf(const Indexing &indexing);
bool hasShape(const Indexing &indexing, std::span<const std::int64_t> shape);

/// All elements in row-major order.
Indexing denseIndexing(std::span<const std::int64_t> shape);
/// True if it is denseIndexing(shape).
bool isRowMajor(const Indexing &at, std::span<const std::int64_t> shape);
/// All elements are the root's only element.
Indexing uniformIndexing(std::span<const std::int64_t> shape);

/// nullopt if an extent of the shape is not a product of digits.
std::optional<Indexing> reshaped(const Indexing &indexing, std::span<const std::int64_t> shape,
                                 std::span<const Bound> bounds = {});
/// Result dim i is dim permutation[i]. nullopt if it is not a permutation.
std::optional<Indexing> transposed(const Indexing &indexing, std::span<const std::int64_t> permutation);
/// Dims of extent 1 and missing leading dims repeat. nullopt if the shapes do not broadcast.
std::optional<Indexing> broadcasted(const Indexing &indexing, std::span<const std::int64_t> shape);
/// `count` elements of `dim` from `first`, at distance `step`. nullopt if they are not inside, or not digits.
std::optional<Indexing> sliced(const Indexing &indexing, std::size_t dim, std::int64_t first, std::int64_t count,
                               std::int64_t step);

/// All digits of a tensor, as those of one dim.
Digits flattened(const Indexing &at);

} // namespace sluice::check::proof

#endif // SLUICE_RUNTIME_PLAN_CHECK_PROOF_INDEXING_H
