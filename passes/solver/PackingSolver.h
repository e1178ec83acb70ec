//===- PackingSolver.h - greedy placement and search --------------------------------===//
//
// Greedy placement in several orders, then a search that moves the buffers with the highest offsets to the front of the
// order. The search is bounded by counted steps, never by time: the same problem has the same solution everywhere.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_PACKINGSOLVER_H
#define SLUICE_PASSES_SOLVER_PACKINGSOLVER_H

#include "passes/solver/OccupiedRanges.h"
#include "passes/solver/PackingProblem.h"

namespace sluice {

/// The order in which buffers are placed.
enum class PackingOrder : std::uint8_t { size, lifespan, area, begin, end };

inline constexpr PackingOrder packingOrders[] = {PackingOrder::lifespan, PackingOrder::area, PackingOrder::size,
                                                 PackingOrder::begin, PackingOrder::end};

struct PackingOptions {
  /// Bound of the search, in visits of a neighbor. 0: greedy placement only.
  std::uint64_t searchSteps = 4'000'000;
};

/// The sum of live bytes at each instant, each size rounded up to `alignment`.
std::vector<std::uint64_t> liveBytes(const PackingProblem &problem, std::uint64_t alignment);

/// The largest of these sums: a lower bound of the height, except for the rounding of one buffer.
std::uint64_t largestLiveSum(const PackingProblem &problem, std::uint64_t alignment);

/// One greedy placement.
PackingSolution placeInOrder(const PackingProblem &problem, PackingOrder order, PackingFit fit);

/// The best solution of all orders and the search.
PackingSolution solvePacking(const PackingProblem &problem, const PackingOptions &options = {});

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_PACKINGSOLVER_H
