//===- Budget.cpp - choices within the memory budget ----------------------------------------===//
#include "passes/Budget.h"

#include "passes/recipe/RecipeAttr.h"
#include "passes/solver/choose/BudgetChecker.h"
#include "passes/solver/simulate/CostModel.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace sluice {
namespace {

/// Plans that are compiled at most. The second one usually is the result; each later one corrects the difference
/// between predicted and placed bytes.
constexpr std::size_t mostTrials = 6;
/// A plan is accepted if less than this part of the budget is left.
constexpr std::int64_t closeEnough = 256;
/// Problems that are solved at most.
constexpr int mostSolves = 10;

constexpr const char *policyKey = "recompute.policy", *saveKey = "recompute.save",
                     *reshardKey = "sharding.reshard_after_forward", *offloadKey = "memory.offload";

bool choosesOffload(const Recipe &recipe) {
  return recipe.memory.choosesOffload() || recipe.memory.offloads(Offloaded::activations);
}

/// The settings of a choice; without stages those of the base plan, in which nothing is recomputed. `offload`: the
/// units' entries in memory.offload.
ChosenValues valuesOf(const Recipe &recipe, const ChosenValues &fixed, const PlanStages &stages,
                      const std::vector<std::uint32_t> &chosen, const RecipeTable &offload) {
  RecipeTable policy, save, reshard;
  const RecipeValue given = recipe.value(reshardKey);
  if (auto *table = std::get_if<RecipeTable>(&given))
    reshard = *table;
  bool isAutomatic = recipe.sharding.reshardAfterForward.isEverywhere(ReshardRule::automatic);
  for (RecipeTableEntry &entry : reshard.entries)
    if (entry.value == RecipeValue(std::string("auto"))) {
      entry.value = std::string("default");
      isAutomatic = true;
    }
  for (std::size_t s = 0; s < stages.stages.size(); ++s) {
    const std::string &block = stages.stages[s].block;
    const StageAlternative &alternative = stages.stages[s].alternatives[chosen[s]];
    if (alternative.recomputes)
      policy.entries.push_back({block, std::string(alternative.save.empty() ? "block" : "selective")});
    if (!alternative.save.empty())
      save.entries.push_back({block, Strings(alternative.save.begin(), alternative.save.end())});
    if (alternative.staysGathered) {
      std::erase_if(reshard.entries, [&](const RecipeTableEntry &entry) { return entry.name == block; });
      reshard.entries.push_back({block, false});
    }
  }
  const auto valueOf = [](RecipeTable &table, const char *ifEmpty) {
    std::ranges::sort(table.entries, {}, &RecipeTableEntry::name);
    return table.entries.empty() ? RecipeValue(std::string(ifEmpty)) : RecipeValue(std::move(table));
  };
  ChosenValues values = fixed;
  values.emplace_back(policyKey, valueOf(policy, "none"));
  if (!save.entries.empty())
    values.push_back({saveKey, valueOf(save, "")});
  if (isAutomatic)
    values.push_back({reshardKey, valueOf(reshard, "default")});
  if (choosesOffload(recipe))
    values.push_back({offloadKey, offloadValue(recipe, offload, stages, chosen)});
  return values;
}

/// Units for which the recipe says "auto", and blocks whose activations it offloads.
StageFreedom freedomOf(const Recipe &recipe, const plan::PlanT &plan) {
  StageFreedom freedom;
  for (const auto &unit : plan.units)
    if (Recipe::Sharding::isAutomatic(recipe.sharding.reshardAfterForward.at(unit->name)))
      freedom.mayStayGathered.insert(unit->name);
  for (const std::string &path : plan.program->names)
    if (recipe.memory.choosesOffload() || recipe.memory.offloads(Offloaded::activations, path))
      freedom.mayOffload.insert(path);
  return freedom;
}

/// A plan whose live bytes are over the budget is not placed as low as possible: its arena says little.
std::int64_t bytesOf(const CompiledPlan &trial, std::int64_t budget) {
  return trial.liveBytes > budget ? trial.liveBytes : trial.deviceBytes;
}

/// Bytes of workspace that only cuDNN's kernels need.
std::int64_t dnnWorkspace(const plan::PlanT &plan) {
  std::vector<std::uint64_t> others(plan.streams.size());
  bool hasDnn = false;
  for (const auto &entry : plan.entries)
    forEachInstruction(*entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
      const plan::LaunchT *launch = instruction.operation.AsLaunch();
      if (!launch)
        return;
      hasDnn |= isByDnn(*launch);
      if (!isByDnn(*launch))
        others[instruction.stream] = std::max(others[instruction.stream], launch->workspace);
    });
  std::int64_t bytes = 0;
  for (std::size_t s = 0; hasDnn && s < others.size(); ++s)
    if (plan.streams[s]->processor == plan::Processor::device)
      bytes += static_cast<std::int64_t>(plan.streams[s]->workspace - others[s]);
  return bytes;
}

} // namespace

Result<BudgetChoice> chooseWithinBudget(mlir::ModuleOp module, const Recipe &recipe, const Machine *machine,
                                        const ChosenValues &fixed, bool isQuiet) {
  const std::int64_t budget = *recipe.memory.budget;
  BudgetChoice best;
  best.budget = budget;
  best.hasMachine = machine != nullptr;
  best.choosesOffload = choosesOffload(recipe);
  SLUICE_ASSIGN_OR_RETURN(best.trial, compileTrial(module, valuesOf(recipe, fixed, {}, {}, {}), isQuiet));
  const plan::PlanT &base = best.trial.file.plan;
  const StageFreedom freedom = freedomOf(recipe, base);
  SLUICE_ASSIGN_OR_RETURN(best.stages, readStages(base, freedom, machine));
  const auto compileOffloaded = [&](const RecipeTable &offload) {
    ++best.plans;
    return compileTrial(module, valuesOf(recipe, fixed, {}, {}, offload));
  };
  if (recipe.memory.choosesOffload()) {
    SLUICE_ASSIGN_OR_RETURN(best.offload, findOffloadOptions(base, best.stages, freedom, *machine, compileOffloaded));
  }
  UnitOffloadProblem problem{best.stages.problem, best.offload.unitBytes, best.offload.kinds};
  best.solution.stages.chosen.assign(problem.stages.stages.size(), 0);
  best.solution.stages.peak = *std::ranges::max_element(problem.stages.live);
  best.isFeasible = best.trial.deviceBytes <= budget;

  const auto keyOf = [](const UnitOffloadSolution &solution) {
    return std::tuple(solution.stages.chosen, solution.kind, solution.units);
  };
  // The other library's plan differs in the workspace.
  std::int64_t freedWorkspace = recipe.choosesAttention() ? dnnWorkspace(base) : 0;
  ChosenValues attention;
  const auto chosenValues = [&](const UnitOffloadSolution &solution) {
    const RecipeTable offload = offloadTable(best.offload, solution.kind, solution.units);
    ChosenValues values = valuesOf(recipe, fixed, best.stages, solution.stages.chosen, offload);
    values.insert(values.end(), attention.begin(), attention.end());
    return values;
  };
  std::map<std::tuple<std::vector<std::uint32_t>, std::size_t, std::size_t>, std::int64_t> tried = {
      {keyOf(best.solution), bytesOf(best.trial, budget)}};
  // Bytes of a plan that the problem does not have: workspace, gaps between buffers, and what recomputing adds. They
  // differ between choices: the search is between the largest number whose choice was over the budget and the smallest
  // one whose choice was within it.
  std::int64_t others = bytesOf(best.trial, budget) - best.solution.stages.peak, othersOfBest = others;
  std::optional<std::int64_t> tooFew, enough;
  for (int solves = 0; solves < mostSolves; ++solves) {
    problem.stages.budget = budget - others;
    std::optional<UnitOffloadSolution> cheapest = solveUnitOffload(problem);
    // Some units cost more than their share of the time of all. No units, or all, have exact times.
    while (cheapest && cheapest->units > 0 && cheapest->units < problem.unitBytes.size() &&
           !problem.kinds[cheapest->kind].timeOfFirst) {
      SLUICE_ASSIGN_OR_RETURN(problem.kinds[cheapest->kind].timeOfFirst,
                              timeOfFirstUnit(best.offload, cheapest->kind, *machine, compileOffloaded));
      cheapest = solveUnitOffload(problem);
    }
    if (!cheapest && !best.isFeasible && freedWorkspace > 0) {
      attention = ownAttention;
      others -= freedWorkspace;
      freedWorkspace = 0;
      tried.clear();
      tooFew = enough = std::nullopt;
      continue;
    }
    if (cheapest)
      SLUICE_RETURN_IF_ERROR(
          checkBudgetSolution(stagesWith(problem, cheapest->kind, cheapest->units), cheapest->stages));
    UnitOffloadSolution solution = cheapest ? *cheapest : lowestPeakWithUnits(problem);
    const auto [known, isNew] = tried.try_emplace(keyOf(solution), 0);
    if (isNew && tried.size() > mostTrials)
      break;
    std::optional<CompiledPlan> trial;
    if (isNew) {
      SLUICE_ASSIGN_OR_RETURN(trial, compileTrial(module, chosenValues(solution)));
      ++best.plans;
      known->second = bytesOf(*trial, budget);
    }
    const bool isFeasible = known->second <= budget;
    const std::int64_t measured = known->second - solution.stages.peak;
    const bool isBetter = isFeasible != best.isFeasible ? isFeasible
                          : isFeasible                  ? solution.cost < best.solution.cost
                                                        : known->second < bytesOf(best.trial, budget);
    if (trial && isBetter) {
      best.solution = std::move(solution);
      best.trial = std::move(*trial);
      best.isFeasible = isFeasible;
      othersOfBest = measured;
    }
    // With the bytes that its plan has, a choice is the optimum of the problem.
    if (isFeasible ? measured == others || budget - known->second < budget / closeEnough : !cheapest)
      break;
    (isFeasible ? enough : tooFew) = others;
    const std::int64_t middle = tooFew && enough ? *tooFew + (*enough - *tooFew) / 2 : others;
    const bool isBetween = (!tooFew || *tooFew < measured) && (!enough || measured < *enough);
    const std::int64_t next = isBetween ? measured : middle;
    if (next == others || next == tooFew)
      break;
    others = next;
  }
  problem.stages.budget = budget - othersOfBest;
  best.bound = std::min(boundUnitOffload(problem).value_or(best.solution.cost), best.solution.cost);
  best.values = chosenValues(best.solution);
  return best;
}

llvm::json::Object decisionsJson(const BudgetChoice &choice) {
  const char *unit = choice.hasMachine ? "s" : "flops";
  const auto timeJson = [&](std::int64_t time) {
    return choice.hasMachine ? llvm::json::Value(static_cast<double>(time) * 1e-12) : llvm::json::Value(time);
  };
  const auto costJson = [&](const BudgetCost &cost) {
    return llvm::json::Object{{unit, timeJson(cost.time)}, {"traffic", cost.traffic}};
  };
  llvm::json::Array decisions;
  for (std::size_t s = 0; s < choice.stages.stages.size(); ++s) {
    const PlanStage &stage = choice.stages.stages[s];
    llvm::json::Array alternatives;
    for (std::size_t a = 0; a < stage.alternatives.size(); ++a) {
      const StageAlternative &alternative = stage.alternatives[a];
      llvm::json::Object object = costJson(choice.stages.problem.stages[s].alternatives[a].cost);
      object["recompute"] = !alternative.recomputes ? "none" : alternative.save.empty() ? "block" : "selective";
      if (!alternative.save.empty())
        object["save"] = llvm::json::Array(alternative.save);
      object["reshard_after_forward"] = !alternative.staysGathered;
      object["bytes"] = alternative.keptBytes;
      if (choice.choosesOffload)
        object["host_bytes"] = alternative.hostBytes;
      alternatives.push_back(std::move(object));
    }
    decisions.push_back(llvm::json::Object{{"block", stage.block},
                                           {"choice", choice.solution.stages.chosen[s]},
                                           {"alternatives", std::move(alternatives)}});
  }
  llvm::json::Object all{{"budget", choice.budget},
                         {"cost", costJson(choice.solution.cost)},
                         {"bound", costJson(choice.bound)},
                         {"decisions", std::move(decisions)}};
  if (!choice.offload.kinds.empty())
    all["offload"] = offloadJson(choice.offload, choice.solution);
  return all;
}

} // namespace sluice
