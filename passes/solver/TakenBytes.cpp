//===- TakenBytes.cpp - which bytes are taken at which instants ----------------------===//
#include "passes/solver/TakenBytes.h"

#include <algorithm>
#include <bit>

namespace sluice {

TakenBytes::TakenBytes(std::uint32_t instants)
    : leaves(std::bit_ceil(std::max(instants, 1u))), nodes(2 * std::size_t(leaves)) {}

void TakenBytes::clear() {
  for (Node &node : nodes) {
    node.throughout.clear();
    node.anywhere.clear();
  }
}

void TakenBytes::insert(Runs &runs, ByteRun run) {
  // All that the run meets or touches becomes one with it.
  auto first = std::partition_point(runs.begin(), runs.end(), [&](const ByteRun &r) { return r.end < run.begin; });
  if (first == runs.end() || run.end < first->begin) {
    runs.insert(first, run);
    return;
  }
  auto last = std::partition_point(first, runs.end(), [&](const ByteRun &r) { return r.begin <= run.end; });
  first->begin = std::min(first->begin, run.begin);
  first->end = std::max((last - 1)->end, run.end);
  runs.erase(first + 1, last);
}

void TakenBytes::take(std::uint32_t from, std::uint32_t to, ByteRun run) { take(1, 0, leaves, from, to, run); }

void TakenBytes::take(std::size_t node, std::uint32_t begin, std::uint32_t end, std::uint32_t from, std::uint32_t to,
                      ByteRun run) {
  if (to <= begin || end <= from)
    return;
  insert(nodes[node].anywhere, run);
  if (from <= begin && end <= to)
    return insert(nodes[node].throughout, run);
  const std::uint32_t middle = begin + (end - begin) / 2;
  take(2 * node, begin, middle, from, to, run);
  take(2 * node + 1, middle, end, from, to, run);
}

void TakenBytes::look(std::uint32_t from, std::uint32_t to) { look(1, 0, leaves, from, to); }

void TakenBytes::look(std::size_t node, std::uint32_t begin, std::uint32_t end, std::uint32_t from, std::uint32_t to) {
  if (to <= begin || end <= from || nodes[node].anywhere.empty())
    return;
  const bool isCovered = from <= begin && end <= to;
  if (const Runs &runs = isCovered ? nodes[node].anywhere : nodes[node].throughout; !runs.empty())
    rests.push_back({runs.data(), runs.data() + runs.size()});
  if (isCovered)
    return;
  const std::uint32_t middle = begin + (end - begin) / 2;
  look(2 * node, begin, middle, from, to);
  look(2 * node + 1, middle, end, from, to);
}

std::uint64_t TakenBytes::freeFrom(std::uint64_t at, std::uint64_t bytes) {
  for (std::size_t agreed = 0, next = 0; agreed < rests.size(); next = next + 1 == rests.size() ? 0 : next + 1) {
    Rest &rest = rests[next];
    if (rest.begin != rest.end && rest.begin->end <= at)
      rest.begin = std::partition_point(rest.begin, rest.end, [&](const ByteRun &r) { return r.end <= at; });
    if (rest.begin == rest.end || at + bytes <= rest.begin->begin) {
      ++agreed;
      continue;
    }
    at = rest.begin->end;
    agreed = 0;
  }
  return at;
}

std::uint64_t TakenBytes::gapFor(std::uint64_t bytes, PackingFit fit) {
  std::uint64_t at = freeFrom(0, fit == PackingFit::first ? bytes : 1);
  if (fit == PackingFit::best) {
    std::uint64_t best = at, bestGap = ~std::uint64_t(0);
    for (;;) {
      std::uint64_t next = ~std::uint64_t(0);
      for (const Rest &rest : rests)
        if (rest.begin != rest.end)
          next = std::min(next, rest.begin->begin);
      if (next == ~std::uint64_t(0))
        break;
      if (next - at >= bytes && next - at < bestGap) {
        best = at;
        bestGap = next - at;
      }
      at = freeFrom(next, 1);
    }
    if (bestGap != ~std::uint64_t(0))
      at = best;
  }
  rests.clear();
  return at;
}

} // namespace sluice
