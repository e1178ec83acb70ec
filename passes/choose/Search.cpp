//===- Search.cpp - the search for the best plan of a recipe ----------------------------------===//
#include "passes/choose/Search.h"

#include "passes/Pipeline.h"

#include "mlir/IR/OwningOpRef.h"

#include <algorithm>
#include <tuple>

namespace sluice {
namespace {

/// More than any plan needs: a plan within its budget is not placed as low as possible, which takes longest.
constexpr std::int64_t largeBudget = std::int64_t(1) << 50;

} // namespace

ChosenValues replaceValues(ChosenValues values, const ChosenValues &changes) {
  for (const auto &[key, value] : changes) {
    std::erase_if(values, [&](const auto &other) { return other.first == key; });
    values.emplace_back(key, value);
  }
  return values;
}

Decided withValues(Decided decided, const ChosenValues &changes) {
  decided.values = replaceValues(std::move(decided.values), changes);
  return decided;
}

RecipeValue valueOf(const ChosenValues &values, const char *key, const Recipe &recipe) {
  const auto found = std::ranges::find(values, key, &ChosenValues::value_type::first);
  return found == values.end() ? recipe.value(key) : found->second;
}

Result<CompiledPlan> Search::compile(mlir::ModuleOp from, const ChosenValues &values, bool isQuiet) {
  ++plans;
  return compileTrial(from, values, isQuiet);
}

bool Search::isTooLarge(const CompiledPlan &plan) const {
  return recipe.memory.budget && plan.liveBytes > *recipe.memory.budget;
}

std::int64_t Search::bytesOf(const CompiledPlan &plan) const {
  return isTooLarge(plan) ? plan.liveBytes : plan.deviceBytes;
}

bool Search::isFeasible(const CompiledPlan &plan) const {
  return recipe.memory.budget ? plan.deviceBytes <= *recipe.memory.budget
                              : !machine || checkDeviceMemory(plan.file.plan, *machine).isOk();
}

Status Search::predict(PlanChoice &choice) const {
  if (machine && !choice.seconds) {
    SLUICE_ASSIGN_OR_RETURN(choice.seconds, predictSeconds(choice.plan.file.plan, *machine));
  }
  return Status::ok();
}

/// For a plan `a` with a shorter step than `b`: false if the recipe has no budget, and the part of the GPU's memory
/// that `a` has in addition is larger than the part of the step that it saves.
bool Search::isWorthItsMemory(const PlanChoice &a, const PlanChoice &b) const {
  if (recipe.memory.budget || !machine || !machine->figure("memory_bytes") || a.plan.liveBytes <= b.plan.liveBytes)
    return true;
  const double memory = static_cast<double>(machine->figure("memory_bytes")->value);
  return (*b.seconds - *a.seconds) / *b.seconds >= static_cast<double>(a.plan.liveBytes - b.plan.liveBytes) / memory;
}

bool Search::isBetter(const PlanChoice &a, const PlanChoice &b, Price price) const {
  const BudgetCost &costOfA = a.solution.cost, &costOfB = b.solution.cost;
  if (a.isFeasible != b.isFeasible)
    return a.isFeasible;
  if (price == Price::model)
    return a.isFeasible ? costOfA < costOfB : bytesOf(a.plan) < bytesOf(b.plan);
  if (!a.isFeasible || (!a.seconds && costOfA == costOfB))
    return a.plan.deviceBytes < b.plan.deviceBytes;
  if (!a.seconds)
    return costOfA < costOfB;
  return std::tuple(*a.seconds, a.plan.deviceBytes) < std::tuple(*b.seconds, b.plan.deviceBytes) &&
         (price == Price::time || isWorthItsMemory(a, b));
}

/// Makes the choices, from the plan of the first alternatives on.
Status Search::choose(mlir::ModuleOp module, std::span<const Choice> choices, PlanChoice &best) {
  if (choices.empty())
    return predict(best);
  const Choice choice = choices.front();
  const std::span<const Choice> later = choices.subspan(1);
  mlir::OwningOpRef<mlir::ModuleOp> common;
  if (const PipelinePhase *phase = findPhase(choice.from); phase > findPhase(compiledTo(module))) {
    common = module.clone();
    SLUICE_RETURN_IF_ERROR(setRecipeValues(*common, best.values));
    SLUICE_RETURN_IF_ERROR(runPhases(*common, phase));
  }
  const mlir::ModuleOp from = common ? *common : module;
  const Decided before = best;
  ComparedSetting setting{choice.key, {}, 0};
  const auto judge = [&](PlanChoice &made) -> Status {
    made.isFeasible = isFeasible(made.plan);
    if (choice.isOuter)
      SLUICE_RETURN_IF_ERROR(choose(module, later, made));
    else if (choice.price != Price::model)
      SLUICE_RETURN_IF_ERROR(predict(made));
    setting.plans.push_back(
        {valueOf(made.values, choice.key, recipe), made.plan.liveBytes, made.seconds, made.isFeasible});
    return Status::ok();
  };
  SLUICE_RETURN_IF_ERROR(judge(best));
  PlanChoice made;
  for (const PlanChoice *last = &best;;) {
    SLUICE_ASSIGN_OR_RETURN(std::optional<Decided> alternative, choice.next({*this, from, before, best, *last}));
    if (!alternative)
      break;
    made = {std::move(*alternative)};
    // Only the plan that is kept is placed as low as possible.
    const bool isPlaced = choice.isOuter || recipe.memory.budget;
    SLUICE_ASSIGN_OR_RETURN(
        made.plan,
        compile(from, isPlaced ? made.values : replaceValues(made.values, {{keys::memoryBudget, largeBudget}})));
    SLUICE_RETURN_IF_ERROR(judge(made));
    last = &made;
    if (!isBetter(made, best, choice.price))
      continue;
    setting.chosen = setting.plans.size() - 1;
    best = std::move(made);
    last = &best;
  }
  if (choice.isOuter)
    return Status::ok();
  if (!recipe.memory.budget && setting.chosen > 0) {
    SLUICE_ASSIGN_OR_RETURN(best.plan, compile(from, best.values));
  }
  if (choice.isListed)
    best.compared.push_back(std::move(setting));
  return choose(module, later, best);
}

Result<PlanChoice> Search::run(mlir::ModuleOp module, const std::vector<Choice> &choices, bool isQuiet) {
  PlanChoice best;
  for (const Choice &choice : choices)
    best.values.insert(best.values.end(), choice.first.begin(), choice.first.end());
  SLUICE_ASSIGN_OR_RETURN(best.plan, compile(module, best.values, isQuiet));
  best.isFeasible = isFeasible(best.plan);
  SLUICE_RETURN_IF_ERROR(choose(module, choices, best));
  best.plans = plans;
  return best;
}

} // namespace sluice
