//===- PackingProblem.h - intervals to be placed in one arena -----------------------===//
//
// A buffer has a size and a half-open lifespan [begin, end) on a line of instants. What runs again and again may need its
// bytes early, while the run before ends: from `ahead` on, and up to `begin`, they are kept for it as well. A solution gives
// each an offset so that buffers whose lifespans meet share no byte; its height is what the arena must have. Plain data: the solver, the
// checker and the text form each stand in a file of their own and know nothing of one another.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_PACKINGPROBLEM_H
#define SLUICE_PASSES_SOLVER_PACKINGPROBLEM_H

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// No arena is larger, and so no tensor: 256 TiB, what the checker of plans accepts. That has the number for itself, as it
/// takes nothing from the passes.
inline constexpr std::uint64_t maxArenaBytes = std::uint64_t(1) << 48;

struct PackingBuffer {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  /// 0: its lifespan is all.
  std::uint32_t ahead = 0;
};

struct PackingProblem {
  /// A power of two; every offset is a multiple of it.
  std::uint64_t alignment = 1;
  std::vector<PackingBuffer> buffers;
};

struct PackingSolution {
  /// Parallel to the problem's buffers.
  std::vector<std::uint64_t> offsets;
  /// One past the last byte that any buffer takes.
  std::uint64_t height = 0;
};

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_PACKINGPROBLEM_H
