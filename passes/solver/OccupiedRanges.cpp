//===- OccupiedRanges.cpp - occupied bytes over time --------------------------------------===//
#include "passes/solver/OccupiedRanges.h"

#include <algorithm>
#include <bit>

namespace sluice {

OccupiedRanges::OccupiedRanges(std::uint32_t instants)
    : leaves(std::bit_ceil(std::max(instants, 1u))), nodes(2 * std::size_t(leaves)) {}

void OccupiedRanges::clear() {
  for (Node &node : nodes) {
    node.throughout.clear();
    node.anywhere.clear();
  }
}

void OccupiedRanges::insert(Ranges &ranges, ByteRange range) {
  // Merges all ranges that the new one overlaps or touches.
  auto first =
      std::partition_point(ranges.begin(), ranges.end(), [&](const ByteRange &r) { return r.end < range.begin; });
  if (first == ranges.end() || range.end < first->begin) {
    ranges.insert(first, range);
    return;
  }
  auto last = std::partition_point(first, ranges.end(), [&](const ByteRange &r) { return r.begin <= range.end; });
  first->begin = std::min(first->begin, range.begin);
  first->end = std::max((last - 1)->end, range.end);
  ranges.erase(first + 1, last);
}

void OccupiedRanges::occupy(std::uint32_t from, std::uint32_t to, ByteRange range) {
  occupy(1, 0, leaves, from, to, range);
}

void OccupiedRanges::occupy(std::size_t node, std::uint32_t begin, std::uint32_t end, std::uint32_t from,
                            std::uint32_t to, ByteRange range) {
  if (to <= begin || end <= from)
    return;
  insert(nodes[node].anywhere, range);
  if (from <= begin && end <= to)
    return insert(nodes[node].throughout, range);
  const std::uint32_t middle = begin + (end - begin) / 2;
  occupy(2 * node, begin, middle, from, to, range);
  occupy(2 * node + 1, middle, end, from, to, range);
}

void OccupiedRanges::addInstants(std::uint32_t from, std::uint32_t to) { addInstants(1, 0, leaves, from, to); }

void OccupiedRanges::addInstants(std::size_t node, std::uint32_t begin, std::uint32_t end, std::uint32_t from,
                                 std::uint32_t to) {
  if (to <= begin || end <= from || nodes[node].anywhere.empty())
    return;
  const bool isCovered = from <= begin && end <= to;
  if (const Ranges &ranges = isCovered ? nodes[node].anywhere : nodes[node].throughout; !ranges.empty())
    cursors.push_back({ranges.data(), ranges.data() + ranges.size()});
  if (isCovered)
    return;
  const std::uint32_t middle = begin + (end - begin) / 2;
  addInstants(2 * node, begin, middle, from, to);
  addInstants(2 * node + 1, middle, end, from, to);
}

ByteRange OccupiedRanges::findFree(std::uint64_t at, std::uint64_t bytes) {
  std::uint64_t next = unbounded;
  for (std::size_t agreed = 0, turn = 0; agreed < cursors.size(); ++turn) {
    if (turn >= cursors.size())
      turn = 0;
    Cursor &cursor = cursors[turn];
    while (cursor.begin != cursor.end && cursor.begin->end <= at)
      ++cursor.begin;
    if (cursor.begin == cursor.end) {
      // All later offsets are higher.
      cursors.erase(cursors.begin() + static_cast<std::ptrdiff_t>(turn--));
    } else if (at + bytes <= cursor.begin->begin) {
      next = std::min(next, cursor.begin->begin);
      ++agreed;
    } else {
      at = cursor.begin->end;
      next = unbounded;
      agreed = 0;
    }
  }
  return {at, next};
}

std::uint64_t OccupiedRanges::findGap(std::uint64_t bytes, PackingFit fit) {
  ByteRange found = findFree(0, fit == PackingFit::first ? bytes : 1);
  if (fit == PackingFit::best) {
    ByteRange gap = found;
    found = {0, unbounded};
    for (; gap.end != unbounded; gap = findFree(gap.end, 1))
      if (gap.end - gap.begin >= bytes && gap.end - gap.begin < found.end - found.begin)
        found = gap;
    if (found.end == unbounded)
      found = gap;
  }
  cursors.clear();
  return found.begin;
}

} // namespace sluice
