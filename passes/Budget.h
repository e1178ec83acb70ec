//===- Budget.h - choices within the memory budget ------------------------------------------===//
//
// recompute.policy = "budget" chooses the ops that each outermost block recomputes, and with
// sharding.reshard_after_forward = "auto" the units that stay gathered after the forward. docs/rationale/budget.md
// explains the method.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_BUDGET_H
#define SLUICE_PASSES_BUDGET_H

#include "passes/CompiledPlan.h"
#include "passes/Pipeline.h"
#include "passes/solver/choose/BudgetProblem.h"
#include "passes/solver/choose/PlanStages.h"

namespace sluice {

struct BudgetChoice {
  PlanStages stages;
  BudgetSolution solution;
  /// The plan of the solution was compiled and is within the budget; otherwise the solution has the least memory.
  bool isFeasible = false;
  /// No choice costs less, by the problem of PlanStages.h.
  BudgetCost bound;
  std::int64_t budget = 0;
  bool hasMachine = false;
  /// The plan of the choices.
  CompiledPlan trial;
};

/// With kernels.attention = "auto" and a budget that a plan with cuDNN's attention exceeds, it becomes "own".
///
/// If the recipe of the module leaves choices of recomputation to the planner: runs the phases before them, chooses,
/// and replaces "budget" and "auto" in the recipe by the choice, so that the remaining phases give its plan. Time is
/// predicted for `machine`, or is FLOPs where it is null. `afterPhase` as for runPhases. Nothing if there is nothing to
/// choose.
Result<std::optional<BudgetChoice>>
makeChoices(mlir::ModuleOp module, const Machine *machine,
            llvm::function_ref<Status(unsigned, const PipelinePhase &)> afterPhase = {});

/// The choice with all alternatives as JSON: the file of --decisions.
std::string decisionsText(const BudgetChoice &choice);

} // namespace sluice

#endif // SLUICE_PASSES_BUDGET_H
