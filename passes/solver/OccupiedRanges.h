//===- OccupiedRanges.h - occupied bytes over time ----------------------------------------===//
//
// A segment tree over the instants. Each node has the bytes occupied at all of its instants and those occupied at any
// of them, as sorted ranges that neither overlap nor touch. To occupy bytes over an interval of instants, or to find a
// gap, takes time proportional to the depth of the tree and the ranges on the path, not to the number of live buffers.
// In a training step the buffers with long lifespans are adjacent, so there are few ranges.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_OCCUPIEDRANGES_H
#define SLUICE_PASSES_SOLVER_OCCUPIEDRANGES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

/// Bytes [begin, end).
struct ByteRange {
  std::uint64_t begin, end;
};

/// Which free range is used: the lowest one, or the smallest one (the lowest of equal ones).
enum class PackingFit : std::uint8_t { first, best };

class OccupiedRanges {
public:
  explicit OccupiedRanges(std::uint32_t instants);

  void clear();

  /// Occupies a range at the instants [from, to); it may overlap occupied ones.
  void occupy(std::uint32_t from, std::uint32_t to, ByteRange range);

  /// Adds the instants [from, to) to those of the next findGap.
  void addInstants(std::uint32_t from, std::uint32_t to);
  /// The offset at which `bytes` are free at all of those instants; after all ranges if no gap is large enough.
  std::uint64_t findGap(std::uint64_t bytes, PackingFit fit);

private:
  static constexpr std::uint64_t unbounded = ~std::uint64_t(0);
  /// Sorted; they neither overlap nor touch.
  using Ranges = std::vector<ByteRange>;
  struct Node {
    /// Occupied at all of the node's instants by one interval, and occupied at any of them.
    Ranges throughout, anywhere;
  };
  /// The ranges of a node at or above the current offset.
  struct Cursor {
    const ByteRange *begin, *end;
  };

  static void insert(Ranges &ranges, ByteRange range);
  void occupy(std::size_t node, std::uint32_t begin, std::uint32_t end, std::uint32_t from, std::uint32_t to,
              ByteRange range);
  void addInstants(std::size_t node, std::uint32_t begin, std::uint32_t end, std::uint32_t from, std::uint32_t to);
  /// The lowest free range of at least `bytes` at or above `at`. Its end is `unbounded` after all occupied ranges.
  ByteRange findFree(std::uint64_t at, std::uint64_t bytes);

  /// Number of leaves, a power of two. The children of node n are 2n and 2n + 1.
  std::uint32_t leaves = 1;
  std::vector<Node> nodes;
  std::vector<Cursor> cursors;
};

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_OCCUPIEDRANGES_H
