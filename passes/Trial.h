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

enum class TrialDiagnostics : std::uint8_t { none, errors, all };

/// Runs the remaining phases on a copy of the module with `chosen` in `model.chosen`. A plan over the memory budget is
/// a result, not an error.
Result<Trial> compileTrial(mlir::ModuleOp module, const ChosenValues &chosen, TrialDiagnostics printed);

} // namespace sluice

#endif // SLUICE_PASSES_TRIAL_H
