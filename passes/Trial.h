//===- Trial.h - compilation of a copy of a module with other settings -----------------------===//
#ifndef SLUICE_PASSES_TRIAL_H
#define SLUICE_PASSES_TRIAL_H

#include "passes/recipe/Recipe.h"
#include "runtime/plan/PlanWriter.h"
#include "runtime/plan/Reader.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// Values of recipe keys that the planner chooses.
using ChosenValues = std::vector<std::pair<std::string, RecipeValue>>;

struct Trial {
  PlanBytes bytes;
  PlanFile file;
  /// Device memory of a rank: arena and workspace, and live bytes and workspace.
  std::int64_t deviceBytes = 0, liveBytes = 0;
};

/// Replaces values of the recipe that the module carries.
Status setRecipeValues(mlir::ModuleOp module, const ChosenValues &values);

/// Runs the remaining phases on a copy of the module with these values in its recipe. A plan over the memory budget is
/// a result, not an error. Errors are printed, warnings and remarks only if `printsRemarks`.
Result<Trial> compileTrial(mlir::ModuleOp module, const ChosenValues &chosen, bool printsRemarks);

} // namespace sluice

#endif // SLUICE_PASSES_TRIAL_H
