//===- CheckpointMemory.h - host memory of a rank that writes checkpoints ---------===//
//
// A save begins with a copy of what the rank writes: of the ranks with the same elements of a parameter the first one
// writes them and its states, and each rank writes its variables. The memory for it follows from the plan, and is
// allocated with the arenas.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECKPOINTMEMORY_H
#define SLUICE_RUNTIME_PLAN_CHECKPOINTMEMORY_H

#include "runtime/plan/Plan.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice {

/// True if the rank writes its elements of the parameter.
bool writesParameter(const plan::PlanT &plan, const plan::ParameterT &parameter, std::uint32_t rank);

/// Limit of the bytes of a file that are read, or collected and written, at once: they are in the cache when they are
/// digested. A multiple of a page, so that the copies begin at one.
inline constexpr std::uint64_t checkpointBlock = 256 << 10;

/// A range of an arena that a rank copies.
struct CopiedRange {
  plan::Space space = plan::Space::device;
  /// Bytes of the arena, half-open.
  std::uint64_t begin = 0, end = 0;
  /// Where the copy begins in the rank's memory of checkpoints.
  std::uint64_t copy = 0;
};

/// The memory of a rank: a block, then the copies of the ranges, in order.
struct CheckpointMemory {
  /// The bytes of a file that are collected before they are written.
  std::uint64_t block = 0;
  std::uint64_t copy = 0;
  std::vector<CopiedRange> ranges;

  std::uint64_t bytes() const { return block + copy; }
  /// Where the copy of a buffer is; nullopt: the rank does not write it.
  std::optional<std::uint64_t> copyOf(const plan::BufferT &buffer) const;
};

/// Rank 0 has the largest one.
CheckpointMemory checkpointMemory(const plan::PlanT &plan, std::uint32_t rank);

/// Bytes of ranks 0 to `ranks` - 1 together, each rounded up to pages of `pageBytes`.
std::uint64_t checkpointPages(const plan::PlanT &plan, std::uint64_t ranks, std::uint64_t pageBytes);

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_CHECKPOINTMEMORY_H
