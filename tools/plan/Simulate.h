//===- Simulate.h - sluice-plan simulate --------------------------------------------------------===//
#ifndef SLUICE_TOOLS_PLAN_SIMULATE_H
#define SLUICE_TOOLS_PLAN_SIMULATE_H

#include "runtime/report/commands/PlanCommand.h"

#include <string>

namespace sluice {

struct SimulateCommand {
  std::string plan, machine;
  /// Path of a trace of rank 0; empty: none.
  std::string trace;
  std::string entry = "train_step";
  bool json = false;
};

/// Predicts the time of a step, and writes the trace.
PlanCommandResult runSimulate(const SimulateCommand &command);

} // namespace sluice

#endif // SLUICE_TOOLS_PLAN_SIMULATE_H
