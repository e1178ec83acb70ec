//===- StreamSimulator.h - when the work of streams runs -----------------------------------------===//
//
// An event-driven simulation of the streams of one rank. Each stream runs its tasks in order. A task first waits for
// another one, then for its latency, then for its work. On a machine whose ranks share cores, all ranks do the same at
// the same time: if they have more working threads than there are cores, work takes longer by that ratio.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_SIMULATE_STREAMSIMULATOR_H
#define SLUICE_PASSES_SOLVER_SIMULATE_STREAMSIMULATOR_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <vector>

namespace sluice {

struct SimulatedTask {
  std::uint32_t stream = 0;
  /// Seconds; see InstructionCost.
  double latency = 0, work = 0;
  std::uint32_t threads = 1;
  /// The task, by index, that ends before this one starts; -1: none. `carried`: that of the previous run.
  std::int64_t after = -1;
  bool carried = false;
};

struct SimulatedStep {
  std::uint32_t streams = 0;
  /// In issue order.
  std::vector<SimulatedTask> tasks;
  /// Tasks after which the host issues the next run.
  std::vector<std::uint32_t> portTasks;
  /// Ranks that share `cores`; 0 cores: each rank has its own.
  double ranks = 1, cores = 0;
  /// Latency of a task that had to wait.
  double waitLatency = 0;
};

struct SimulatedRun {
  /// Seconds from the start of the first run, by task. `ready` is when the task was the next one of its stream.
  std::vector<double> ready, begin, end;
  /// When all tasks of the run and those before it have ended.
  double finish = 0;
};

/// Consecutive runs of the same step. An internal error if tasks wait for each other.
Result<std::vector<SimulatedRun>> simulateRuns(const SimulatedStep &step, std::uint32_t runs);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_SIMULATE_STREAMSIMULATOR_H
