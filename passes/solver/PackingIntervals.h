//===- PackingIntervals.h - instants in which the bytes of buffers are reserved -----------===//
#ifndef SLUICE_PASSES_SOLVER_PACKINGINTERVALS_H
#define SLUICE_PASSES_SOLVER_PACKINGINTERVALS_H

#include "passes/solver/PackingProblem.h"

namespace sluice {

/// A half-open interval of instants in which a buffer's bytes are reserved.
struct PackingInterval {
  /// Index in PackingProblem.buffers.
  std::uint32_t buffer;
  std::uint32_t begin, end;
};

/// For each buffer its lifespan, from the first instant on if it is reserved early, and then the interval from
/// `reservedFrom` to the last instant. The intervals of one buffer are consecutive and do not overlap. Buffers with an
/// empty lifespan have none.
std::vector<PackingInterval> intervalsOf(const PackingProblem &problem);

/// Merges instants at which nothing begins: the same intervals overlap. Returns the number of instants.
std::uint32_t dropIdleInstants(std::vector<PackingInterval> &intervals);

/// The sum of live bytes at each instant of the intervals, each size rounded up to `alignment`. Takes memory for every
/// instant up to the last.
std::vector<std::uint64_t> liveBytes(const PackingProblem &problem, const std::vector<PackingInterval> &intervals,
                                     std::uint64_t alignment);

/// The largest sum of live bytes at an instant: a lower bound of the height, except for the rounding of one buffer.
std::uint64_t largestLiveSum(const PackingProblem &problem, std::uint64_t alignment);

/// The next multiple of `alignment`.
inline std::uint64_t alignUp(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_PACKINGINTERVALS_H
