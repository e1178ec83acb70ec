//===- CompiledPlan.h - compilation of a module in memory ------------------------------------===//
#ifndef SLUICE_PASSES_CHOOSE_COMPILEDPLAN_H
#define SLUICE_PASSES_CHOOSE_COMPILEDPLAN_H

#include "passes/recipe/Recipe.h"
#include "runtime/plan/PlanWriter.h"
#include "runtime/plan/Reader.h"
#include "runtime/report/machine/MachineFile.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// Values of recipe keys that the planner chooses.
using ChosenValues = std::vector<std::pair<std::string, RecipeValue>>;

struct CompiledPlan {
  PlanBytes bytes;
  PlanFile file;
  /// Device memory of a rank: arena and workspace, and live bytes and workspace.
  std::int64_t deviceBytes = 0, liveBytes = 0;
  /// The error of plan-check-budget; empty: none.
  std::string overBudget;
};

/// Replaces values of the recipe that the module carries.
Status setRecipeValues(mlir::ModuleOp module, const ChosenValues &values);

/// Runs the remaining phases on the module and reads the plan back, unchecked. A plan over the memory budget is a
/// result, not an error. Warnings and remarks are dropped if `isQuiet`. IR is verified once, before it is emitted: the
/// checker verifies the plan that is kept.
Result<CompiledPlan> compilePlan(mlir::ModuleOp module, bool isQuiet);

/// The same for a copy of the module with these values in its recipe.
Result<CompiledPlan> compileTrial(mlir::ModuleOp module, const ChosenValues &chosen, bool isQuiet = true);

/// Predicted seconds of the training step. An error names the rates that the machine file does not have.
Result<double> predictSeconds(const plan::PlanT &plan, const Machine &machine);

/// An error if a rank of the plan does not fit the memory of the machine's GPU.
Status checkDeviceMemory(const plan::PlanT &plan, const Machine &machine);

} // namespace sluice

#endif // SLUICE_PASSES_CHOOSE_COMPILEDPLAN_H
