//===- Simulate.h - sluice-plan simulate --------------------------------------------------------===//
#ifndef SLUICE_TOOLS_PLAN_SIMULATE_H
#define SLUICE_TOOLS_PLAN_SIMULATE_H

#include "passes/solver/simulate/Prediction.h"
#include "runtime/base/Json.h"
#include "tools/plan/Commands.h"

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

Json stepJson(const plan::PlanT &plan, const Machine &machine, const PredictedStep &step);
std::string stepText(const plan::PlanT &plan, const Machine &machine, const PredictedStep &step);

} // namespace sluice

#endif // SLUICE_TOOLS_PLAN_SIMULATE_H
