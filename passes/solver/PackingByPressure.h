//===- PackingByPressure.h - placement below a capacity, the fullest instants first -------===//
//
// For problems of thousands of buffers whose live bytes come close to the capacity at some instants only, as in a
// training step.
//
//   1. The buffers of the fullest instant that live longest and whose lifespans are nested, such as saved activations,
//      form a stack at the bottom. It leaves room above it, which differs by instant.
//   2. All other buffers are placed from the capacity downwards. So instants with the same buffers get the same
//      placement, however high the stack is.
//   3. The pressure of an instant is the live bytes that are not in the stack, divided by the room. Buffers are placed
//      in groups: consecutive instants of high pressure, from the highest outwards, then all other instants. A group is
//      placed in several orders, the first of which is the order that placed the group before it, then by exact search,
//      then in the orders again, each buffer in the smallest gap instead of the lowest one.
//   4. If a buffer finds no room, the placed buffers with which it shares an instant are removed, join its group, and
//      are placed again; those that live longest only if no others are left.
//
// Work is bounded by counted steps: the same arguments give the same result on every machine.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_PACKINGBYPRESSURE_H
#define SLUICE_PASSES_SOLVER_PACKINGBYPRESSURE_H

#include "passes/solver/PackingProblem.h"

#include <optional>

namespace sluice {

/// A solution of at most `capacity` bytes; nullopt if none was found in `steps` comparisons of two buffers, from which
/// those that were made are subtracted.
std::optional<PackingSolution> packByPressure(const PackingProblem &problem, std::uint64_t capacity,
                                              std::uint64_t &steps);

/// The same with a sweep (passes/solver/PackingSweep.h) in place of the groups of step 3.
std::optional<PackingSolution> packBySweep(const PackingProblem &problem, std::uint64_t capacity, std::uint64_t steps);

/// The solution, or a lower one: of at most 1.002 times `least`, else of at most 1.005 times it, found by groups in
/// `steps` comparisons or by sweeps; else of at most 1.01 or 1.02 times it, found by groups.
PackingSolution lowerByPressure(const PackingProblem &problem, PackingSolution solution, std::uint64_t least,
                                std::uint64_t steps);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_PACKINGBYPRESSURE_H
