//===- PackingSearch.h - exact placement below a capacity ---------------------------------===//
//
// Depth-first search for a packing of at most a given height, or the proof that none exists. Buffers are placed in
// order of ascending offsets, each at the lowest offset that the placed buffers allow: if a packing exists, one of this
// form exists. A partial packing is abandoned if
//   - the buffers of some instant, placed one on the other from their lowest offsets on, exceed the capacity,
//   - an unplaced buffer fits completely below the next offset, or
//   - one of two independent parts of the remaining buffers has no packing.
// Candidates of one offset are in order of lifespan, size times lifespan, and the largest sum of unplaced bytes over
// their instants, in one of three priorities; each priority gets a limit of placements in turn, which then doubles.
//
// The order, the section bound and the dominance rule are those of M. D. Moffitt, "MiniMalloc: A Lightweight Memory
// Allocator for Hardware-Accelerated Machine Learning", ASPLOS 2023, doi 10.1145/3623278.3624752.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_PACKINGSEARCH_H
#define SLUICE_PASSES_SOLVER_PACKINGSEARCH_H

#include "passes/solver/OccupiedRanges.h"
#include "passes/solver/PackingProblem.h"

namespace sluice {

/// The search takes memory for each pair of buffers with a common instant, and for each pair of buffers in total.
inline constexpr std::size_t maxSearchedBuffers = 2048;

enum class PackingOutcome : std::uint8_t {
  found,
  /// No packing has this height.
  infeasible,
  /// The limit of placements was reached before a decision.
  undecided,
};

struct PackingSearchResult {
  PackingOutcome outcome = PackingOutcome::undecided;
  /// If it was found.
  PackingSolution solution;
};

/// Bytes that the buffers of a search cannot take.
struct PackingSurroundings {
  /// By instant of the problem, the offset at which free bytes end; a multiple of the alignment.
  std::vector<std::uint64_t> ceilings;
  /// By buffer, bytes that are not free during its lifespan; multiples of the alignment. Buffers of equal lifespans
  /// have the same ranges.
  std::vector<std::vector<ByteRange>> occupied;
};

/// Searches with at most `placements` tentative placements; problems of more than maxSearchedBuffers buffers are
/// undecided. The same arguments give the same result on every machine.
PackingSearchResult searchPacking(const PackingProblem &problem, std::uint64_t capacity, std::uint64_t placements);
/// The same below ceilings and next to occupied bytes.
PackingSearchResult searchPacking(const PackingProblem &problem, const PackingSurroundings &surroundings,
                                  std::uint64_t placements);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_PACKINGSEARCH_H
