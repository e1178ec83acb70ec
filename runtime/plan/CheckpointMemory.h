//===- CheckpointMemory.h - host memory of a rank that writes checkpoints ---------===//
//
// A save begins with a copy of what persists between steps. The memory for it follows from the plan, and is allocated
// with the arenas.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECKPOINTMEMORY_H
#define SLUICE_RUNTIME_PLAN_CHECKPOINTMEMORY_H

#include "runtime/plan/Plan.h"

#include <cstdint>

namespace sluice {

/// Bytes of one rank, in the order in which they are in its memory.
struct CheckpointMemory {
  /// The bytes of a file that are collected before they are written.
  std::uint64_t block = 0;
  /// The persistent bytes of the arenas, one arena after another.
  std::uint64_t copy = 0;

  std::uint64_t bytes() const { return block + copy; }
};

CheckpointMemory checkpointMemory(const plan::PlanT &plan);

/// Where the copy of an arena begins in that memory.
std::uint64_t copyBegin(const plan::PlanT &plan, plan::Space space);

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_CHECKPOINTMEMORY_H
