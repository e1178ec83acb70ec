//===- BudgetDecisions.h - the problem of a memory budget -------------------------------------===//
#ifndef SLUICE_PASSES_CHOOSE_BUDGETDECISIONS_H
#define SLUICE_PASSES_CHOOSE_BUDGETDECISIONS_H

#include "passes/recipe/Recipe.h"
#include "passes/solver/choose/PlanStages.h"
#include "passes/solver/choose/UnitOffload.h"

namespace sluice {

/// The units that may be offloaded, and for each kind of tensors the bytes that it saves and its time.
struct OffloadOptions {
  /// In the order in which they are offloaded: those with the fewest bytes first.
  std::vector<std::string> units;
  std::vector<std::int64_t> unitBytes;
  /// The entry of a unit in memory.offload, parallel to `kinds`.
  std::vector<Strings> tensors;
  std::vector<OffloadKind> kinds;
  /// Predicted step of the base plan.
  double baseSeconds = 0;
};

struct BudgetDecisions {
  PlanStages stages;
  /// Empty unless memory.offload is "auto".
  OffloadOptions offload;
  /// No choice costs less, by the problem of PlanStages.h.
  BudgetCost bound;
  std::int64_t budget = 0;
  bool hasMachine = false;
  /// Activations may be in host memory.
  bool choosesOffload = false;
};

} // namespace sluice

#endif // SLUICE_PASSES_CHOOSE_BUDGETDECISIONS_H
