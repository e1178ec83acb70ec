//===- Explain.h - sluice-plan explain -----------------------------------------------------------===//
#ifndef SLUICE_TOOLS_PLAN_EXPLAIN_H
#define SLUICE_TOOLS_PLAN_EXPLAIN_H

#include "runtime/plan/Commands.h"

#include <string>

namespace sluice {

struct ExplainCommand {
  std::string plan;
  /// A unit, a parameter or a buffer; empty: the peak, activations, gathered units and recompute regions.
  std::string name;
  std::string entry = "train_step";
  bool json = false;
};

PlanCommandResult runExplain(const ExplainCommand &command);

} // namespace sluice

#endif // SLUICE_TOOLS_PLAN_EXPLAIN_H
