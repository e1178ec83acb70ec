//===- CheckpointMemory.cpp - host memory of a rank that writes checkpoints -------===//
#include "runtime/plan/CheckpointMemory.h"

namespace sluice {

/// A multiple of a page, so that the copy begins at one.
static constexpr std::uint64_t blockBytes = 1 << 20;

CheckpointMemory checkpointMemory(const plan::PlanT &plan) {
  CheckpointMemory memory{blockBytes};
  for (const auto &arena : plan.arenas)
    memory.copy += arena->persistent;
  return memory;
}

std::uint64_t copyBegin(const plan::PlanT &plan, plan::Space space) {
  std::uint64_t begin = blockBytes;
  for (const auto &arena : plan.arenas) {
    if (arena->space == space)
      break;
    begin += arena->persistent;
  }
  return begin;
}

} // namespace sluice
