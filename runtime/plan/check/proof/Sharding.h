//===- Sharding.h - how ranks divide a tensor ----------------------------------------------===//
//
// A shard is affine: the index of a rank's first element grows with its coordinates. If the chunks of the ranks are
// longer than the dim, the last elements of the shards are padding, which a bound describes.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_PROOF_SHARDING_H
#define SLUICE_RUNTIME_PLAN_CHECK_PROOF_SHARDING_H

#include "runtime/plan/check/proof/Indexing.h"

#include <string>

namespace sluice::check::proof {

/// The elements of a root that a rank has.
struct Shard {
  Indexing at;
  std::vector<AxisStep> steps;
  std::vector<Bound> bounds;
  bool operator==(const Shard &) const = default;
  /// Gives equal shards equal members.
  void sort();
};

/// How a dim of a value is divided over ranks: `segments` equal parts of `extent` elements, each in chunks along
/// `axes`, the first outermost.
struct DimSharding {
  std::vector<std::uint32_t> axes;
  std::int64_t segments = 1;
  /// Extent on one rank, all segments together.
  std::int64_t local = 0;
  /// All elements along the dim are equal: the extent may be that of any sharding.
  bool isUniform = false;
  /// Of a segment of the unsharded dim, if it is divided.
  std::int64_t extent = 0;
  bool isSharded() const { return !axes.empty(); }
  std::int64_t chunk() const { return local / segments; }
  bool isPadded(std::span<const std::uint32_t> sizes) const;
  bool isSame(const DimSharding &other) const {
    return axes == other.axes && segments == other.segments && local == other.local &&
           (!isSharded() || extent == other.extent);
  }
};

/// The sharding by which `local` is the tensor `global` of a root of `elements` elements. `sizes`: of the axes. nullopt
/// if it is no shard of it.
std::optional<std::vector<DimSharding>> shardingBetween(const Shard &local, const Indexing &global,
                                                        std::int64_t elements, std::span<const std::uint32_t> sizes);

/// The elements that the shards of all ranks have, if it is each of them equally often, as one dim; nullopt if it is
/// not, or if they are not digits. The last digit of elements that repeat has step 0.
std::optional<Indexing> elementsOfAll(const Shard &shard, std::int64_t elements, std::span<const std::uint32_t> sizes);

/// True if the shards of all ranks are each of `elements` elements once, and padding.
bool coversOnce(const Shard &shard, std::int64_t elements, std::span<const std::uint32_t> sizes);

/// The ends past which some rank has padding, ascending: of bounds, and `elements`, those of the root.
std::vector<std::int64_t> paddedEnds(const Shard &shard, std::int64_t elements, std::span<const std::uint32_t> sizes);

/// The part of a dense tensor that a rank has by `dims`. nullopt if bounds do not describe its padding.
std::optional<Shard> shardOf(std::span<const std::int64_t> shape, std::span<const DimSharding> dims,
                             std::span<const std::uint32_t> sizes);

/// Removes the bounds that exclude no element.
void simplify(Shard &shard, std::span<const std::uint32_t> sizes);

/// The ranks along an axis, of which each has all chunks, become a digit at distance `step`. False if only the first
/// chunk has elements, and the others are padding.
bool gatherAxis(std::vector<Bound> &bounds, std::uint32_t axis, std::int64_t step);

} // namespace sluice::check::proof

#endif // SLUICE_RUNTIME_PLAN_CHECK_PROOF_SHARDING_H
