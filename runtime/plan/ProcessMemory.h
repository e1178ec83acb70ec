//===- ProcessMemory.h - the predicted memory of a process that runs a plan --------===//
//
// The arenas are exact to the byte. A model with a few constants, fitted once on one machine
// (docs/benchmarks-notebook.md) and compared with measured runs by a test, adds the plan's tables, the data structures
// of each rank, the matrix library's allocations inside a product, stacks, and pages of code. It is for sluice-train,
// which sets the C library's allocator so that freed blocks neither accumulate nor fragment (tools/train/Allocator.h).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_PROCESSMEMORY_H
#define SLUICE_RUNTIME_PLAN_PROCESSMEMORY_H

#include "runtime/plan/Plan.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice {

struct ProcessTerm {
  /// "arenas", "commands", "threads", "packing", "plan", "runtime", and "checkpoint" of a run that writes checkpoints.
  std::string_view name;
  /// A description for the reader.
  std::string_view what;
  /// All ranks of the process together.
  std::uint64_t bytes = 0;
};

/// In the order of the list above, for a process that holds `ranks` of the plan's ranks. Empty for a plan of a GPU: the
/// host memory of its driver and libraries, some hundred MiB, is not predicted.
std::vector<ProcessTerm> processTerms(const plan::PlanT &plan, std::uint64_t ranks, bool writesCheckpoints = false);

/// Their sum: bytes that the process grows by, from before the plan is read to its largest.
std::optional<std::uint64_t> predictedProcess(const plan::PlanT &plan, std::uint64_t ranks,
                                              bool writesCheckpoints = false);
/// Of a process that holds all ranks and writes no checkpoints.
std::optional<std::uint64_t> predictedProcess(const plan::PlanT &plan);

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_PROCESSMEMORY_H
