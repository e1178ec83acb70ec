//===- CompiledPlan.cpp - compilation of a module in memory ----------------------------------===//
#include "passes/choose/CompiledPlan.h"

#include "passes/Pipeline.h"
#include "passes/emit/Emit.h"
#include "passes/memory/Passes.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/solver/choose/PlanStages.h"
#include "passes/solver/simulate/Prediction.h"
#include "runtime/base/Text.h"

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

Result<CompiledPlan> compilePlan(mlir::ModuleOp module, bool isQuiet) {
  CompiledPlan plan;
  {
    mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
      const bool isOverBudget = isOverBudgetError(diagnostic);
      if (isOverBudget)
        plan.overBudget = diagnostic.str();
      return mlir::success(isOverBudget || (isQuiet && diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error));
    });
    // The check of the budget is the only error after which the module holds a plan.
    if (Status status = runPhases(module, nullptr, {}, /*verifiesEachPhase=*/false);
        !status.isOk() && plan.overBudget.empty())
      return status;
  }
  llvm::FailureOr<PlanBytes> bytes = emitPlan(module);
  if (llvm::failed(bytes))
    return internalError("plan that cannot be emitted, please report it");
  plan.bytes = std::move(*bytes);
  SLUICE_ASSIGN_OR_RETURN(plan.file, parsePlan(plan.bytes.span(), "plan"));
  if (const plan::ArenaT *arena = arenaOf(plan.file.plan, plan::Space::device)) {
    plan.deviceBytes = static_cast<std::int64_t>(arena->bytes + arena->workspace);
    plan.liveBytes = static_cast<std::int64_t>(arena->peak_live + arena->workspace);
  }
  return plan;
}

Result<double> predictSeconds(const plan::PlanT &plan, const Machine &machine) {
  SLUICE_ASSIGN_OR_RETURN(const PredictedStep step, predictStep(plan, machine, trainedEntry(plan).value_or(0)));
  if (step.isComplete)
    return step.seconds;
  return inputError(concat("machine '", machine.name, "' has no value for: ",
                           join(step.unknown, ", ", [](const auto &missing) { return missing.first; })));
}

Status checkDeviceMemory(const plan::PlanT &plan, const Machine &machine) {
  const std::optional<Machine::Value> &memory = machine.figure("memory_bytes");
  if (machine.device == "cpu" || !memory)
    return Status::ok();
  SLUICE_ASSIGN_OR_RETURN(const DeviceShare share, deviceShare(plan, machine));
  if (share.known <= memory->value)
    return Status::ok();
  return {StatusCode::budget, "over the memory of '" + machine.name + "', expected at most " +
                                  formatBytesExact(memory->value) + " but got " + formatBytesExact(share.known)};
}

Result<CompiledPlan> compileTrial(mlir::ModuleOp module, const ChosenValues &chosen, bool isQuiet) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  SLUICE_RETURN_IF_ERROR(setRecipeValues(*copy, chosen));
  return compilePlan(*copy, isQuiet);
}

} // namespace sluice
