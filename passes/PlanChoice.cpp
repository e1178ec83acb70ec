//===- PlanChoice.cpp - a chosen plan and the plans that it is compared with -------------------===//
#include "passes/PlanChoice.h"

#include "llvm/Support/FormatVariadic.h"

#include <tuple>

namespace sluice {
namespace {

/// More than any plan needs: a plan within its budget is not placed as low as possible, which takes longest.
constexpr std::int64_t largeBudget = std::int64_t(1) << 50;

} // namespace

Result<CompiledPlan> PlanComparison::compile(mlir::ModuleOp from, const ChosenValues &values, bool isQuiet) {
  ++plans;
  return compileTrial(from, values, isQuiet);
}

Result<CompiledPlan> PlanComparison::compileCompared(mlir::ModuleOp from, ChosenValues values) {
  if (!hasBudget())
    values.emplace_back("memory.budget", largeBudget);
  return compile(from, values);
}

Status PlanComparison::judge(PlanChoice &choice) const {
  const CompiledPlan &plan = choice.plan;
  choice.isFeasible = recipe.memory.budget ? plan.deviceBytes <= *recipe.memory.budget
                                           : !machine || checkDeviceMemory(plan.file.plan, *machine).isOk();
  if (machine) {
    SLUICE_ASSIGN_OR_RETURN(choice.seconds, predictSeconds(plan.file.plan, *machine));
  }
  return Status::ok();
}

bool PlanComparison::isTooLarge(const CompiledPlan &plan) const {
  return recipe.memory.budget && plan.liveBytes > *recipe.memory.budget;
}

bool isBetter(const PlanChoice &a, const PlanChoice &b) {
  if (a.isFeasible != b.isFeasible)
    return a.isFeasible;
  const auto cost = [](const PlanChoice &choice) {
    return choice.budget ? choice.budget->solution.cost : BudgetCost();
  };
  if (!a.isFeasible || (!a.seconds && cost(a) == cost(b)))
    return a.plan.deviceBytes < b.plan.deviceBytes;
  return a.seconds ? std::tuple(*a.seconds, a.plan.deviceBytes) < std::tuple(*b.seconds, b.plan.deviceBytes)
                   : cost(a) < cost(b);
}

bool PlanComparison::isWorthItsMemory(const PlanChoice &a, const PlanChoice &b) const {
  if (hasBudget() || !machine || !machine->figure("memory_bytes") || a.plan.liveBytes <= b.plan.liveBytes)
    return true;
  const double memory = static_cast<double>(machine->figure("memory_bytes")->value);
  return (*b.seconds - *a.seconds) / *b.seconds >= static_cast<double>(a.plan.liveBytes - b.plan.liveBytes) / memory;
}

std::string decisionsText(const PlanChoice &choice) {
  llvm::json::Object all =
      choice.budget ? decisionsJson(*choice.budget) : llvm::json::Object{{"decisions", llvm::json::Array()}};
  all["peak"] = choice.plan.deviceBytes;
  all["feasible"] = choice.isFeasible;
  all["plans"] = choice.plans;
  if (choice.seconds)
    all["step_s"] = *choice.seconds;
  for (const auto &[key, value] : choice.values)
    if (key == unitsKey && choice.choosesUnits)
      all["units"] = std::holds_alternative<std::string>(value) ? "block" : "embedding and head";
  llvm::json::Array prefetch;
  for (const PrefetchDecision &decision : choice.prefetch)
    prefetch.push_back(llvm::json::Object{{"unit", decision.unit},
                                          {"phase", decision.isBackward ? "backward" : "forward"},
                                          {"issued_at", decision.issuedAt},
                                          {"bytes", decision.bytes},
                                          {"s", decision.seconds}});
  all["prefetch"] = std::move(prefetch);
  llvm::json::Array compared;
  for (const ComparedSetting &setting : choice.compared) {
    llvm::json::Array plans;
    for (const ComparedPlan &plan : setting.plans)
      plans.push_back(llvm::json::Object{{"value", printRecipeValue(plan.value)},
                                         {"live_bytes", plan.liveBytes},
                                         {"step_s", plan.seconds},
                                         {"feasible", plan.isFeasible}});
    compared.push_back(
        llvm::json::Object{{"key", setting.key}, {"choice", setting.chosen}, {"alternatives", std::move(plans)}});
  }
  all["compared"] = std::move(compared);
  for (const auto &[key, value] : choice.values)
    if (key == forwardPrefetchKey || key == backwardPrefetchKey)
      all[key] = printRecipeValue(value);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}", llvm::json::Value(std::move(all))) << "\n";
  return text;
}

} // namespace sluice
