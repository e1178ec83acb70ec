//===- PackingSweep.h - placement from the last instant to the first ----------------------===//
//
// For buffers of instants that are almost full, as in the backward pass of a model with many equal blocks. There the
// saved activations of each block make the pressure rise slowly from the last instant to the first, so placements that
// leave unusable gaps fail one after the other before the fullest instant is reached.
//
// Many partial placements are extended buffer by buffer, in descending order of the last instant:
//   - A placement has a successor for each end of each gap that is large enough. From all successors a fixed number is
//     drawn without replacement, with keys u / w of uniform numbers u and weights w (sequential Poisson sampling:
//     E. Ohlsson, "Sequential Poisson sampling", Journal of Official Statistics 14, 1998). Successors that fill a gap
//     have a greater weight, those of placements with many gaps a smaller one.
//   - A successor is dropped if its gaps cannot hold the large buffers that begin next in this order.
//   - Where no successor is left, the sweep returns to earlier placements with other random numbers and more of them,
//     each time further back.
//
// The numbers come from a generator with a fixed start, and the work is bounded by counted steps: the same arguments
// give the same result on every machine.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_PACKINGSWEEP_H
#define SLUICE_PASSES_SOLVER_PACKINGSWEEP_H

#include "passes/solver/OccupiedRanges.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice {

/// A buffer and the bytes that it may take.
struct SweepBuffer {
  std::uint64_t bytes = 0;
  /// Live from `begin` to `end`, without `end`.
  std::uint32_t begin = 0, end = 0;
  /// The offset at which free bytes end.
  std::uint64_t ceiling = 0;
  /// Bytes that are not free, sorted by their begin, without overlaps.
  std::vector<ByteRange> occupied;
};

/// The offset of each buffer; nullopt if none was found in `steps` comparisons of two buffers. Works with as many
/// threads as there are processors, on which the result does not depend.
std::optional<std::vector<std::uint64_t>> sweepPacking(const std::vector<SweepBuffer> &buffers, std::uint64_t steps);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_PACKINGSWEEP_H
