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

std::uint64_t OccupiedRanges::findFree(std::uint64_t at, std::uint64_t bytes) {
  for (std::size_t agreed = 0, next = 0; agreed < cursors.size(); next = next + 1 == cursors.size() ? 0 : next + 1) {
    Cursor &cursor = cursors[next];
    if (cursor.begin != cursor.end && cursor.begin->end <= at)
      cursor.begin = std::partition_point(cursor.begin, cursor.end, [&](const ByteRange &r) { return r.end <= at; });
    if (cursor.begin == cursor.end || at + bytes <= cursor.begin->begin) {
      ++agreed;
      continue;
    }
    at = cursor.begin->end;
    agreed = 0;
  }
  return at;
}

std::uint64_t OccupiedRanges::findGap(std::uint64_t bytes, PackingFit fit) {
  std::uint64_t at = findFree(0, fit == PackingFit::first ? bytes : 1);
  if (fit == PackingFit::best) {
    std::uint64_t best = at, bestGap = ~std::uint64_t(0);
    for (;;) {
      std::uint64_t next = ~std::uint64_t(0);
      for (const Cursor &cursor : cursors)
        if (cursor.begin != cursor.end)
          next = std::min(next, cursor.begin->begin);
      if (next == ~std::uint64_t(0))
        break;
      if (next - at >= bytes && next - at < bestGap) {
        best = at;
        bestGap = next - at;
      }
      at = findFree(next, 1);
    }
    if (bestGap != ~std::uint64_t(0))
      at = best;
  }
  cursors.clear();
  return at;
}

} // namespace sluice
