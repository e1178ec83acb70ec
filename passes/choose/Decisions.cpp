//===- Decisions.cpp - the file of --decisions ------------------------------------------------===//
#include "passes/choose/Choice.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <algorithm>

namespace sluice {
namespace {

/// The kinds with the bytes and seconds of all units, and the choice.
llvm::json::Object offloadJson(const OffloadOptions &options, const UnitOffloadSolution &solution) {
  llvm::json::Array kinds;
  for (std::size_t kind = 0; kind < options.kinds.size(); ++kind)
    kinds.push_back(llvm::json::Object{{"tensors", llvm::json::Array(options.tensors[kind])},
                                       {"bytes", std::ranges::max(options.kinds[kind].savedBytes)},
                                       {"s", static_cast<double>(options.kinds[kind].time) * 1e-12}});
  const auto end = options.units.begin() + static_cast<std::ptrdiff_t>(solution.units);
  llvm::json::Object chosen{{"units", llvm::json::Array(Strings(options.units.begin(), end))}};
  if (solution.units > 0)
    chosen["tensors"] = llvm::json::Array(options.tensors[solution.kind]);
  return llvm::json::Object{{"all_units", std::move(kinds)}, {"choice", std::move(chosen)}};
}

/// Budget, cost, bound, and each decision with its alternatives.
llvm::json::Object budgetJson(const BudgetDecisions &budget, const UnitOffloadSolution &solution) {
  const char *unit = budget.hasMachine ? "s" : "flops";
  const auto timeJson = [&](std::int64_t time) {
    return budget.hasMachine ? llvm::json::Value(static_cast<double>(time) * 1e-12) : llvm::json::Value(time);
  };
  const auto costJson = [&](const BudgetCost &cost) {
    return llvm::json::Object{{unit, timeJson(cost.time)}, {"traffic", cost.traffic}};
  };
  llvm::json::Array decisions;
  for (std::size_t s = 0; s < budget.stages.stages.size(); ++s) {
    const PlanStage &stage = budget.stages.stages[s];
    llvm::json::Array alternatives;
    for (std::size_t a = 0; a < stage.alternatives.size(); ++a) {
      const StageAlternative &alternative = stage.alternatives[a];
      llvm::json::Object object = costJson(budget.stages.problem.stages[s].alternatives[a].cost);
      object["recompute"] = !alternative.recomputes ? "none" : alternative.save.empty() ? "block" : "selective";
      if (!alternative.save.empty())
        object["save"] = llvm::json::Array(alternative.save);
      object["reshard_after_forward"] = !alternative.staysGathered;
      object["bytes"] = alternative.keptBytes;
      if (budget.choosesOffload)
        object["host_bytes"] = alternative.hostBytes;
      alternatives.push_back(std::move(object));
    }
    decisions.push_back(llvm::json::Object{
        {"block", stage.block}, {"choice", solution.stages.chosen[s]}, {"alternatives", std::move(alternatives)}});
  }
  llvm::json::Object all{{"budget", budget.budget},
                         {"cost", costJson(solution.cost)},
                         {"bound", costJson(budget.bound)},
                         {"decisions", std::move(decisions)}};
  if (!budget.offload.kinds.empty())
    all["offload"] = offloadJson(budget.offload, solution);
  return all;
}

} // namespace

std::string decisionsText(const PlanChoice &choice) {
  llvm::json::Object all = choice.budget ? budgetJson(*choice.budget, choice.solution)
                                         : llvm::json::Object{{"decisions", llvm::json::Array()}};
  all["peak"] = choice.plan.deviceBytes;
  all["feasible"] = choice.isFeasible;
  all["plans"] = choice.plans;
  if (choice.seconds)
    all["step_s"] = *choice.seconds;
  for (const auto &[key, value] : choice.values)
    if (key == keys::units)
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
                                         {"step_s", *plan.seconds},
                                         {"feasible", plan.isFeasible}});
    compared.push_back(
        llvm::json::Object{{"key", setting.key}, {"choice", setting.chosen}, {"alternatives", std::move(plans)}});
  }
  all["compared"] = std::move(compared);
  for (const auto &[key, value] : choice.values)
    if (key == keys::forwardPrefetch || key == keys::backwardPrefetch)
      all[key] = printRecipeValue(value);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}", llvm::json::Value(std::move(all))) << "\n";
  return text;
}

} // namespace sluice
