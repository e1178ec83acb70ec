//===- PackingPlacement.h - a partial placement below a capacity --------------------------===//
//
// The state of the methods of PackingByPressure.h: the stack of buffers that live longest, the room that it leaves
// above it, and the offsets of all other buffers, from the capacity downwards.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_PACKINGPLACEMENT_H
#define SLUICE_PASSES_SOLVER_PACKINGPLACEMENT_H

#include "passes/solver/OccupiedRanges.h"
#include "passes/solver/PackingIntervals.h"
#include "passes/solver/PackingProblem.h"

#include <limits>
#include <span>

namespace sluice {

class PackingPlacement {
public:
  /// `steps`: comparisons of two buffers at most.
  PackingPlacement(const PackingProblem &problem, std::uint64_t capacity, std::uint64_t steps);

  PackingSolution solution(const PackingProblem &problem) const;

  /// Comparisons that were made.
  std::uint64_t steps() const { return taken; }

protected:
  using Ids = std::vector<std::uint32_t>;
  static constexpr std::uint64_t unplaced = std::numeric_limits<std::uint64_t>::max();

  /// Places the stack, then the buffers that outlive the groups. A buffer of either lives for more than one part of so
  /// many of the instants. False if the live bytes of an instant exceed the capacity.
  bool start(int stackShare, int longShare);

  std::span<const PackingInterval> spansOf(std::uint32_t buffer) const {
    return std::span(intervals).subspan(first[buffer], first[buffer + 1] - first[buffer]);
  }
  bool lives(std::uint32_t buffer, std::uint32_t begin, std::uint32_t end) const {
    return std::ranges::any_of(spansOf(buffer),
                               [&](const PackingInterval &s) { return s.begin < end && begin < s.end; });
  }
  bool overlap(std::uint32_t a, std::uint32_t b) {
    ++taken;
    return std::ranges::any_of(spansOf(a), [&](const PackingInterval &s) { return lives(b, s.begin, s.end); });
  }

  /// Places the buffers in order, each at the lowest offset that `near` leaves or in the smallest gap. Returns those
  /// without room.
  Ids placeInOrder(const Ids &order, const Ids &near, PackingFit fit);

  /// Those that are not in the stack.
  Ids placedBuffers() const;

  std::uint64_t top, most, taken = 0;
  std::vector<PackingInterval> intervals;
  /// The first interval of each buffer.
  std::vector<std::size_t> first;
  std::uint32_t instants = 0;
  /// Buffers with longer lifespans are placed before the groups.
  std::uint64_t longLived = 0;
  std::vector<std::uint64_t> sizes, lifespans;
  /// From the bottom for buffers of the stack, from `top` downwards for the others.
  std::vector<std::uint64_t> offsets;
  std::vector<bool> isStacked;
  /// The buffers that are not in the stack.
  Ids rest;
  /// By instant: bytes above the stack, and the share of them that live buffers take.
  std::vector<std::uint64_t> room;
  std::vector<double> pressure;
  /// By buffer: the highest pressure and the least room of its instants.
  std::vector<double> highest;
  std::vector<std::uint64_t> roofs;

private:
  bool stack(std::uint32_t leastLifespan);
  bool measurePressure();
  void placeLongLived();
};

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_PACKINGPLACEMENT_H
