//===- Trial.cpp - compilation of a copy of a module with other settings ---------------------===//
#include "passes/Trial.h"

#include "passes/Pipeline.h"
#include "passes/emit/Emit.h"
#include "passes/memory/Passes.h"
#include "passes/recipe/RecipeAttr.h"

#include "dialect/model/Attributes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"

namespace sluice {

Status setRecipeValues(mlir::ModuleOp module, const ChosenValues &values) {
  SLUICE_ASSIGN_OR_RETURN(Recipe recipe, attachedRecipe(module));
  for (const auto &[key, value] : values)
    SLUICE_RETURN_IF_ERROR(recipe.add(key, value, model::recipeName.str()));
  attachRecipe(module, recipe);
  return Status::ok();
}

Result<Trial> compileTrial(mlir::ModuleOp module, const ChosenValues &chosen, bool printsRemarks) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  SLUICE_RETURN_IF_ERROR(setRecipeValues(*copy, chosen));
  bool isOverBudget = false;
  {
    mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
      const bool isError = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
      const bool isOfBudget = isOverBudgetError(diagnostic);
      isOverBudget |= isOfBudget;
      return mlir::success(isOfBudget || (!isError && !printsRemarks));
    });
    // The check of the budget is the only error after which the module holds a plan.
    if (Status status = runPhases(*copy, nullptr); !status.isOk() && !isOverBudget)
      return status;
  }
  llvm::FailureOr<PlanBytes> bytes = emitPlan(*copy);
  if (llvm::failed(bytes))
    return internalError("plan that cannot be emitted, please report it");
  SLUICE_ASSIGN_OR_RETURN(PlanFile file, parsePlan(bytes->span(), "plan"));
  Trial trial{std::move(*bytes), std::move(file)};
  if (const plan::ArenaT *arena = arenaOf(trial.file.plan, plan::Space::device)) {
    trial.deviceBytes = static_cast<std::int64_t>(arena->bytes + arena->workspace);
    trial.liveBytes = static_cast<std::int64_t>(arena->peak_live + arena->workspace);
  }
  return trial;
}

} // namespace sluice
