//===- Budget.h - choices within the memory budget ------------------------------------------===//
//
// recompute.policy = "budget" chooses the ops that each outermost block recomputes, and with
// sharding.reshard_after_forward = "auto" the units that stay gathered after the forward, and with "activations" in
// memory.offload the blocks whose activations are in host memory; with memory.offload = "auto" also the units whose
// states are (OffloadChoice.h). docs/rationale/budget.md explains the method.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_BUDGET_H
#define SLUICE_PASSES_BUDGET_H

#include "passes/OffloadChoice.h"

#include "llvm/Support/JSON.h"

namespace sluice {

struct BudgetChoice {
  PlanStages stages;
  /// Empty unless memory.offload is "auto".
  OffloadOptions offload;
  UnitOffloadSolution solution;
  /// The plan of the solution was compiled and is within the budget; otherwise the solution has the least memory.
  bool isFeasible = false;
  /// No choice costs less, by the problem of PlanStages.h.
  BudgetCost bound;
  std::int64_t budget = 0;
  bool hasMachine = false;
  /// Activations may be in host memory.
  bool choosesOffload = false;
  /// Number of plans that were compiled.
  int plans = 1;
  /// The fixed settings and those of the choice, and the plan that they give.
  ChosenValues values;
  CompiledPlan trial;
};

/// Sluice's kernels of attention, which need less workspace than cuDNN's.
inline const ChosenValues ownAttention = {{"kernels.attention", std::string("own")}};

/// For a module after the phase `optimize`, whose recipe has a budget. `fixed`: settings of each plan. With
/// kernels.attention = "auto", `ownAttention` is added to them if no choice is within the budget next to cuDNN's
/// workspace. Time is predicted for `machine`, or is FLOPs where it is null. Warnings and remarks are dropped if
/// `isQuiet`.
Result<BudgetChoice> chooseWithinBudget(mlir::ModuleOp module, const Recipe &recipe, const Machine *machine,
                                        const ChosenValues &fixed, bool isQuiet);

/// Budget, cost, bound, and each decision with its alternatives.
llvm::json::Object decisionsJson(const BudgetChoice &choice);

} // namespace sluice

#endif // SLUICE_PASSES_BUDGET_H
