//===- Planner.h - settings that the compiler chooses ---------------------------------------===//
//
// Replaces "budget" and "auto" in a recipe by the settings of the best plan that was compiled: what blocks recompute
// and which units stay gathered (Budget.h), the boundaries of units, when gathers are issued, which units stay gathered
// between micro-batches, and how many reductions are in flight.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_PLANNER_H
#define SLUICE_PASSES_PLANNER_H

#include "passes/Budget.h"
#include "passes/Pipeline.h"

namespace sluice {

/// A gather of the step.
struct PrefetchDecision {
  std::string unit;
  bool isBackward = false;
  /// The unit whose use issues the gather; its own for a gather at its use.
  std::string issuedAt;
  std::int64_t bytes = 0;
  double seconds = 0;
};

/// A plan that was compared with others that differ in one setting.
struct ComparedPlan {
  RecipeValue value;
  /// Device memory of a rank before placement.
  std::int64_t liveBytes = 0;
  double seconds = 0;
  bool isFeasible = false;
};

/// A setting for whose values plans were compiled.
struct ComparedSetting {
  std::string key;
  std::vector<ComparedPlan> plans;
  std::size_t chosen = 0;
};

struct PlanChoice {
  /// The settings that replace "budget" and "auto", and their plan.
  ChosenValues values;
  CompiledPlan plan;
  /// The plan is within the budget, or without one within the memory of the machine's GPU; otherwise it is the one with
  /// the least memory.
  bool isFeasible = false;
  /// Predicted step; nullopt without a machine.
  std::optional<double> seconds;
  /// If the recipe leaves the choice to the planner. `prefetch` is empty where distances were better in a direction.
  std::optional<BudgetChoice> budget;
  std::vector<PrefetchDecision> prefetch;
  std::vector<ComparedSetting> compared;
  bool choosesUnits = false;
  /// Number of plans that were compiled for the choice.
  int plans = 0;
};

/// True if the recipe has a value that makeChoices replaces.
bool leavesChoices(const Recipe &recipe);

/// With kernels.attention = "auto" and a budget that a plan with cuDNN's attention exceeds, it becomes "own"; otherwise
/// that plan is the result, even if the recipe leaves no other choice.
///
/// If the recipe of the module leaves choices to the planner: runs the phases before them, chooses, and sets the recipe
/// to the choice, so that the remaining phases give its plan. Time is predicted for `machine`; where it is null, plans
/// are compared by FLOPs and bytes, and a choice of prefetch is an error. `afterPhase` as for runPhases. Nothing if
/// there is nothing to choose.
Result<std::optional<PlanChoice>>
makeChoices(mlir::ModuleOp module, const Machine *machine,
            llvm::function_ref<Status(unsigned, const PipelinePhase &)> afterPhase = {});

/// The choice with all alternatives as JSON: the file of --decisions.
std::string decisionsText(const PlanChoice &choice);

} // namespace sluice

#endif // SLUICE_PASSES_PLANNER_H
