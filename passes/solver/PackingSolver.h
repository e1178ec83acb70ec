//===- PackingSolver.h - greedy placement and search --------------------------------===//
//
// Greedy placement in several orders, then a search that moves the buffers with the highest offsets to the front of the
// order. The search is bounded by counted steps, never by time: the same problem has the same solution everywhere.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_PACKINGSOLVER_H
#define SLUICE_PASSES_SOLVER_PACKINGSOLVER_H

#include "passes/solver/OccupiedRanges.h"
#include "passes/solver/PackingSearch.h"

namespace sluice {

/// The order in which buffers are placed.
enum class PackingOrder : std::uint8_t { size, lifespan, area, begin, end };

inline constexpr PackingOrder packingOrders[] = {PackingOrder::lifespan, PackingOrder::area, PackingOrder::size,
                                                 PackingOrder::begin, PackingOrder::end};

struct PackingOptions {
  /// Bound of the search, in visits of a neighbor. 0: greedy placement only.
  std::uint64_t searchSteps = 4'000'000;
  /// A solution of at most this height ends the search.
  std::uint64_t height = 0;
};

/// One greedy placement.
PackingSolution placeInOrder(const PackingProblem &problem, PackingOrder order, PackingFit fit);

/// The best solution of all orders and the search.
PackingSolution solvePacking(const PackingProblem &problem, const PackingOptions &options = {});

/// A solution of at most `capacity` bytes, by turns of the search above and of searchPacking(). If none was found,
/// `solution` is the lowest one of the former, unless the live bytes of an instant exceed the capacity.
PackingSearchResult packWithin(const PackingProblem &problem, std::uint64_t capacity);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_PACKINGSOLVER_H
