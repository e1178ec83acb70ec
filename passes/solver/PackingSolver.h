//===- PackingSolver.h - places intervals in little space ---------------------------===//
//
// Greedy placement under several orders, then a search that moves the buffers that stand highest to the front of the
// order. The search is bounded by counted steps, never by time: the same problem has the same solution everywhere.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_PACKINGSOLVER_H
#define SLUICE_PASSES_SOLVER_PACKINGSOLVER_H

#include "passes/solver/PackingProblem.h"
#include "passes/solver/TakenBytes.h"

#include <string_view>

namespace sluice {

/// Which buffer is placed next.
enum class PackingOrder : std::uint8_t { size, lifespan, area, begin, end };

inline constexpr PackingOrder packingOrders[] = {PackingOrder::lifespan, PackingOrder::area, PackingOrder::size,
                                                 PackingOrder::begin, PackingOrder::end};

struct PackingOptions {
  /// Bound of the work of the search, in looks at a neighbour. 0: greedy placement only.
  std::uint64_t searchSteps = 4'000'000;
};

/// The largest sum of bytes live at one instant, each size rounded up to `alignment`: no solution is lower, but for the
/// rounding of one buffer.
std::uint64_t largestLiveSum(const PackingProblem &problem, std::uint64_t alignment);

/// One greedy placement.
PackingSolution placeInOrder(const PackingProblem &problem, PackingOrder order, PackingFit fit);

/// The best that all orders and the search find.
PackingSolution solvePacking(const PackingProblem &problem, const PackingOptions &options = {});

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_PACKINGSOLVER_H
