//===- PlanChoice.h - a chosen plan and the plans that it is compared with ---------------------===//
#ifndef SLUICE_PASSES_PLANCHOICE_H
#define SLUICE_PASSES_PLANCHOICE_H

#include "passes/Budget.h"

namespace sluice {

inline constexpr const char *unitsKey = "sharding.units", *forwardPrefetchKey = "schedule.forward_prefetch",
                            *backwardPrefetchKey = "schedule.backward_prefetch";

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

/// The choice with all alternatives as JSON: the file of --decisions.
std::string decisionsText(const PlanChoice &choice);

/// True if plan `a` is to be preferred to plan `b`, of the same recipe and machine.
bool isBetter(const PlanChoice &a, const PlanChoice &b);

/// Compiles plans of a recipe, and compares them by their predicted steps on a machine, or without one by FLOPs and
/// bytes.
class PlanComparison {
public:
  /// `machine` may be null. Both are not copied.
  PlanComparison(const Recipe &recipe, const Machine *machine) : recipe(recipe), machine(machine) {}

  Result<CompiledPlan> compile(mlir::ModuleOp from, const ChosenValues &values, bool isQuiet = true);

  /// A plan that is only compared: without a budget its buffers are not placed as low as possible.
  Result<CompiledPlan> compileCompared(mlir::ModuleOp from, ChosenValues values);

  /// Sets whether the plan is within the budget, or without one within the memory of the machine's GPU, and its
  /// seconds.
  Status judge(PlanChoice &choice) const;

  /// True if no placement of the plan is within the budget.
  bool isTooLarge(const CompiledPlan &plan) const;

  /// For a plan `a` with a shorter step than `b`: false if the recipe has no budget, and the part of the GPU's memory
  /// that `a` has in addition is larger than the part of the step that it saves.
  bool isWorthItsMemory(const PlanChoice &a, const PlanChoice &b) const;

  bool hasBudget() const { return recipe.memory.budget.has_value(); }

  /// Number of plans that were compiled.
  int plans = 0;

private:
  const Recipe &recipe;
  const Machine *machine;
};

} // namespace sluice

#endif // SLUICE_PASSES_PLANCHOICE_H
