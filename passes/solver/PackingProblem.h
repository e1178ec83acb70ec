//===- PackingProblem.h - buffers with lifespans in one arena -----------------------===//
//
// A buffer has a size and a half-open lifespan [begin, end) in instants. A buffer of a repeated run may be written
// while the run before ends: its bytes are also reserved from `reservedFrom` on, and up to `begin`. A solution has an
// offset for each buffer, so that buffers with overlapping lifespans share no byte; its height is the size of the
// arena. The solver and the checker are separate files that do not use each other.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_PACKINGPROBLEM_H
#define SLUICE_PASSES_SOLVER_PACKINGPROBLEM_H

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// The maximum size of an arena, and of a tensor: 256 TiB. The checker of plans has the same limit, but uses nothing of
/// the passes.
inline constexpr std::uint64_t maxArenaBytes = std::uint64_t(1) << 48;

struct PackingBuffer {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  /// 0: only the lifespan.
  std::uint32_t reservedFrom = 0;
};

struct PackingProblem {
  /// A power of two; every offset is a multiple of it.
  std::uint64_t alignment = 1;
  std::vector<PackingBuffer> buffers;
};

struct PackingSolution {
  /// Parallel to the problem's buffers.
  std::vector<std::uint64_t> offsets;
  /// One past the last byte of any buffer.
  std::uint64_t height = 0;
};

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_PACKINGPROBLEM_H
