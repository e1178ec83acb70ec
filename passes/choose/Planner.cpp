//===- Planner.cpp - settings that the compiler chooses -------------------------------------===//
#include "passes/choose/Planner.h"

#include "passes/choose/Search.h"
#include "passes/choose/TensorChoice.h"
#include "passes/recipe/RecipeAttr.h"

#include "mlir/IR/Diagnostics.h"

#include <algorithm>

namespace sluice {

namespace {

struct Row {
  const char *key;
  bool (*isOpen)(const Recipe &recipe);
  Choice (*make)(const Recipe &recipe, const Machine *machine);
  bool needsMachine = false;
};

/// In the order in which the choices are made.
constexpr Row rows[] = {
    {keys::units, [](const Recipe &recipe) { return recipe.sharding.choosesUnits(); }, chooseUnits},
    {keys::recomputePolicy,
     [](const Recipe &recipe) { return recipe.recompute.policy.isEverywhere(RecomputePolicy::budget); },
     chooseWithinBudget},
    {keys::forwardPrefetch, [](const Recipe &recipe) { return recipe.schedule.choosesPrefetch(); }, choosePrefetch,
     /*needsMachine=*/true},
    {keys::reshardAfterBackward, [](const Recipe &recipe) { return recipe.sharding.choosesAfterBackward(); },
     chooseAfterBackward, /*needsMachine=*/true},
    {keys::reduceBuffers, [](const Recipe &recipe) { return recipe.schedule.choosesReduceBuffers(); },
     chooseReduceBuffers, /*needsMachine=*/true},
};

/// Diagnostics are emitted unless the plan is over the budget: then another one is compiled.
Result<CompiledPlan> compileWithDnn(mlir::ModuleOp module) {
  std::vector<mlir::Diagnostic> held;
  Result<CompiledPlan> plan = [&] {
    mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
      held.push_back(std::move(diagnostic));
      return mlir::success();
    });
    return compileTrial(module, {}, /*isQuiet=*/false);
  }();
  if (!plan.isOk() || plan->overBudget.empty())
    for (mlir::Diagnostic &diagnostic : held)
      module.getContext()->getDiagEngine().emit(std::move(diagnostic));
  return plan;
}

} // namespace

bool leavesChoices(const Recipe &recipe) {
  return recipe.sharding.choosesTensor() ||
         std::ranges::any_of(rows, [&](const Row &row) { return row.isOpen(recipe); });
}

Result<std::optional<PlanChoice>> makeChoices(mlir::ModuleOp module, const Machine *machine,
                                              llvm::function_ref<Status(unsigned, const PipelinePhase &)> afterPhase) {
  SLUICE_ASSIGN_OR_RETURN(Recipe recipe, attachedRecipe(module));
  const PipelinePhase *const done = findPhase(compiledTo(module));
  // With cuDNN if a plan with it is within the budget.
  const bool choosesAttention =
      recipe.choosesAttention() && recipe.memory.budget && (!done || done < findPhase("streams"));
  const PipelinePhase *const before = findPhase("optimize");
  if (recipe.sharding.choosesTensor() && !(done && done > before)) {
    SLUICE_RETURN_IF_ERROR(runPhases(module, before, afterPhase));
    SLUICE_ASSIGN_OR_RETURN(const TensorChoice tensor, TensorChoice::create(module));
    SLUICE_ASSIGN_OR_RETURN(RecipeValue splits, tensor.choose());
    SLUICE_RETURN_IF_ERROR(setRecipeValues(module, {{keys::tensor, std::move(splits)}}));
    return makeChoices(module, machine, afterPhase);
  }
  if (!leavesChoices(recipe)) {
    PlanChoice choice;
    if (!choosesAttention)
      return std::optional<PlanChoice>();
    SLUICE_ASSIGN_OR_RETURN(choice.plan, compileWithDnn(module));
    choice.isFeasible = choice.plan.overBudget.empty();
    if (choice.isFeasible)
      return std::optional(std::move(choice));
    SLUICE_RETURN_IF_ERROR(setRecipeValues(module, ownAttention()));
    return std::optional<PlanChoice>();
  }
  if (done && done > before)
    return std::optional<PlanChoice>();
  SLUICE_RETURN_IF_ERROR(recipe.resolve());
  std::vector<Choice> choices;
  for (const Row &row : rows) {
    if (!row.isOpen(recipe))
      continue;
    if (row.needsMachine && !machine)
      return inputError(recipe.origin(row.key) + ": '" + row.key + "' = \"auto\" requires the times of a machine")
          .withNote("give --machine FILE, such as a file of tools/machines");
    choices.push_back(row.make(recipe, machine));
  }
  if (recipe.recompute.policy.isEverywhere(RecomputePolicy::budget) && !machine &&
      (recipe.memory.offloads(Offloaded::activations) || recipe.memory.choosesOffload()))
    return inputError(recipe.origin(keys::memoryOffload) + ": \"" +
                      (recipe.memory.choosesOffload() ? "auto" : "activations") +
                      "\" in 'memory.offload' with 'recompute.policy' = \"budget\" requires the times of a machine")
        .withNote("give --machine FILE, such as a file of tools/machines");
  SLUICE_RETURN_IF_ERROR(runPhases(module, before, afterPhase));
  SLUICE_ASSIGN_OR_RETURN(PlanChoice choice, Search(recipe, machine).run(module, choices, /*isQuiet=*/false));
  if (choosesAttention && !choice.isFeasible &&
      std::ranges::find(choice.values, ownAttention()[0]) == choice.values.end()) {
    SLUICE_RETURN_IF_ERROR(setRecipeValues(module, ownAttention()));
    SLUICE_ASSIGN_OR_RETURN(choice, Search(recipe, machine).run(module, choices, /*isQuiet=*/true));
  }
  SLUICE_RETURN_IF_ERROR(setRecipeValues(module, choice.values));
  return std::optional(std::move(choice));
}

} // namespace sluice
