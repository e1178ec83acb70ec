//===- ShardMath.h - which part of a tensor and which place in the mesh a rank has -------===//
//
// The arithmetic of shards, for the compiler and the runtime. An extent of `total` over `ranks` ranks is cut in chunks
// of ceil(total / ranks): the rank with coordinate c has rows [c * chunk, (c + 1) * chunk), of which those from `total`
// on are padding. Each segment of a fused dim of several equal segments is cut in this way. Ranks are numbered
// row-major over the sizes of the mesh, the first axis outermost; so are the members of a group, over the axes in the
// order in which they are given.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_SHARDMATH_H
#define SLUICE_RUNTIME_BASE_SHARDMATH_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// Rows of each rank's chunk, padding included. `total` is at least 0, `ranks` at least 1.
constexpr std::int64_t chunkOf(std::int64_t total, std::int64_t ranks) { return total / ranks + (total % ranks != 0); }

/// The first row of the chunk at a coordinate; `total` where the chunk is all padding. No argument is negative. The
/// product is computed in 128 bits because it may exceed 64 before it is clamped.
constexpr std::int64_t chunkBegin(std::int64_t total, std::int64_t chunk, std::int64_t coordinate) {
  return static_cast<std::int64_t>(std::min<__int128>(__int128(chunk) * coordinate, total));
}

/// The rows of that chunk that are not padding: clamp(total - coordinate * chunk, 0, chunk).
constexpr std::int64_t validExtent(std::int64_t total, std::int64_t chunk, std::int64_t coordinate) {
  return std::min(total - chunkBegin(total, chunk, coordinate), chunk);
}

using Numbers32 = std::span<const std::uint32_t>;

/// Coordinate of `rank` along each axis of a mesh of these sizes.
inline std::vector<std::uint32_t> coordinatesOf(Numbers32 sizes, std::uint32_t rank) {
  std::vector<std::uint32_t> coordinates(sizes.size());
  for (std::size_t axis = sizes.size(); axis-- > 0; rank /= sizes[axis])
    coordinates[axis] = rank % sizes[axis];
  return coordinates;
}

/// The rank at these coordinates.
inline std::uint32_t rankAt(Numbers32 sizes, Numbers32 coordinates) {
  std::uint32_t rank = 0;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    rank = rank * sizes[axis] + coordinates[axis];
  return rank;
}

/// Position of `rank` among those that differ from it only along `axes`.
inline std::uint32_t positionInGroup(Numbers32 sizes, std::uint32_t rank, Numbers32 axes) {
  const std::vector<std::uint32_t> coordinates = coordinatesOf(sizes, rank);
  std::uint32_t position = 0;
  for (std::uint32_t axis : axes)
    position = position * sizes[axis] + coordinates[axis];
  return position;
}

/// The ranks of the group of `rank` along `axes`, in the order of positionInGroup.
inline std::vector<int> groupMembers(Numbers32 sizes, std::uint32_t rank, Numbers32 axes) {
  std::vector<std::uint32_t> coordinates = coordinatesOf(sizes, rank);
  std::size_t count = 1;
  for (std::uint32_t axis : axes)
    count *= sizes[axis];
  std::vector<int> members(count);
  for (std::size_t m = 0; m < count; ++m) {
    std::size_t rest = m;
    for (std::size_t a = axes.size(); a-- > 0; rest /= sizes[axes[a]])
      coordinates[axes[a]] = static_cast<std::uint32_t>(rest % sizes[axes[a]]);
    members[m] = static_cast<int>(rankAt(sizes, coordinates));
  }
  return members;
}

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_SHARDMATH_H
