//===- BudgetChoice.cpp - choices within the memory budget ------------------------------------===//
#include "passes/choose/OffloadOptions.h"
#include "passes/choose/Search.h"
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

bool choosesOffload(const Recipe &recipe) {
  return recipe.memory.choosesOffload() || recipe.memory.offloads(Offloaded::activations);
}

/// The settings of a choice; without stages those of the base plan, in which nothing is recomputed. `offload`: the
/// units' entries in memory.offload.
ChosenValues valuesOf(const Recipe &recipe, const PlanStages &stages, const std::vector<std::uint32_t> &chosen,
                      const RecipeTable &offload) {
  RecipeTable policy, save, reshard;
  const RecipeValue given = recipe.value(keys::reshardAfterForward);
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
  ChosenValues values = {{keys::recomputePolicy, valueOf(policy, "none")}};
  if (!save.entries.empty())
    values.emplace_back(keys::recomputeSave, valueOf(save, ""));
  if (isAutomatic)
    values.emplace_back(keys::reshardAfterForward, valueOf(reshard, "default"));
  if (choosesOffload(recipe))
    values.emplace_back(keys::memoryOffload, offloadValue(recipe, offload, stages, chosen));
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

/// The alternatives within the budget: solutions of a problem that the plans before them correct.
class BudgetAlternatives {
public:
  BudgetAlternatives(const Recipe &recipe, const Machine *machine)
      : recipe(recipe), machine(machine), budget(*recipe.memory.budget) {}

  Result<std::optional<Decided>> operator()(const Progress &progress) {
    std::optional<Decided> alternative;
    if (!decisions)
      SLUICE_RETURN_IF_ERROR(readProblem(progress));
    else
      learn(progress.search.bytesOf(progress.last.plan), /*isBest=*/&progress.last == &progress.best);
    while (!alternative && solves < mostSolves) {
      SLUICE_ASSIGN_OR_RETURN(alternative, solve(progress));
    }
    if (!alternative) {
      problem.stages.budget = budget - othersOfBest;
      const BudgetCost &cost = progress.best.solution.cost;
      decisions->bound = std::min(boundUnitOffload(problem).value_or(cost), cost);
    }
    return alternative;
  }

private:
  using Key = std::tuple<std::vector<std::uint32_t>, std::size_t, std::size_t>;

  static Key keyOf(const UnitOffloadSolution &solution) {
    return {solution.stages.chosen, solution.kind, solution.units};
  }

  /// Plans that are compiled for the time of units, and are no alternatives.
  auto compiler(const Progress &progress) const {
    return [this, &progress](const RecipeTable &offload) {
      return progress.search.compile(progress.from,
                                     replaceValues(progress.before.values, valuesOf(recipe, {}, {}, offload)));
    };
  }

  /// States the problem of the plan in which nothing is recomputed.
  Status readProblem(const Progress &progress) {
    PlanChoice &best = progress.best;
    const plan::PlanT &base = best.plan.file.plan;
    decisions = best.budget = std::make_shared<BudgetDecisions>();
    decisions->budget = budget;
    decisions->hasMachine = machine != nullptr;
    decisions->choosesOffload = choosesOffload(recipe);
    const StageFreedom freedom = freedomOf(recipe, base);
    SLUICE_ASSIGN_OR_RETURN(decisions->stages, readStages(base, freedom, machine));
    if (recipe.memory.choosesOffload()) {
      SLUICE_ASSIGN_OR_RETURN(decisions->offload,
                              findOffloadOptions(base, decisions->stages, freedom, *machine, compiler(progress)));
    }
    problem = {decisions->stages.problem, decisions->offload.unitBytes, decisions->offload.kinds};
    best.solution.stages.chosen.assign(problem.stages.stages.size(), 0);
    best.solution.stages.peak = *std::ranges::max_element(problem.stages.live);
    // The other library's plan differs in the workspace.
    freedWorkspace = recipe.choosesAttention() ? dnnWorkspace(base) : 0;
    const std::int64_t bytes = progress.search.bytesOf(best.plan);
    tried = {{keyOf(best.solution), bytes}};
    others = othersOfBest = bytes - best.solution.stages.peak;
    return Status::ok();
  }

  /// A choice that was not compiled, by the problem with the bytes of `others`; nullopt where it is known.
  Result<std::optional<Decided>> solve(const Progress &progress) {
    ++solves;
    problem.stages.budget = budget - others;
    std::optional<UnitOffloadSolution> cheapest = solveUnitOffload(problem);
    // Some units cost more than their share of the time of all. No units, or all, have exact times.
    while (cheapest && cheapest->units > 0 && cheapest->units < problem.unitBytes.size() &&
           !problem.kinds[cheapest->kind].timeOfFirst) {
      SLUICE_ASSIGN_OR_RETURN(problem.kinds[cheapest->kind].timeOfFirst,
                              timeOfFirstUnit(decisions->offload, cheapest->kind, *machine, compiler(progress)));
      cheapest = solveUnitOffload(problem);
    }
    hasSolution = cheapest.has_value();
    if (!cheapest && !progress.best.isFeasible && freedWorkspace > 0) {
      attention = ownAttention();
      others -= freedWorkspace;
      freedWorkspace = 0;
      tried.clear();
      tooFew = enough = std::nullopt;
      return std::optional<Decided>();
    }
    if (cheapest)
      SLUICE_RETURN_IF_ERROR(
          checkBudgetSolution(stagesWith(problem, cheapest->kind, cheapest->units), cheapest->stages));
    solution = cheapest ? *cheapest : lowestPeakWithUnits(problem);
    if (const auto known = tried.find(keyOf(solution)); known != tried.end()) {
      learn(known->second, /*isBest=*/false);
      return std::optional<Decided>();
    }
    if (tried.size() >= mostTrials) {
      solves = mostSolves;
      return std::optional<Decided>();
    }
    const RecipeTable offload = offloadTable(decisions->offload, solution.kind, solution.units);
    Decided decided = progress.before;
    decided.values = replaceValues(
        replaceValues(std::move(decided.values), valuesOf(recipe, decisions->stages, solution.stages.chosen, offload)),
        attention);
    decided.budget = decisions;
    decided.solution = solution;
    return std::optional(std::move(decided));
  }

  /// Corrects `others` by the bytes of the plan of `solution`, or ends the search.
  void learn(std::int64_t bytes, bool isBest) {
    tried[keyOf(solution)] = bytes;
    const bool isFeasible = bytes <= budget;
    const std::int64_t measured = bytes - solution.stages.peak;
    if (isBest)
      othersOfBest = measured;
    // With the bytes that its plan has, a choice is the optimum of the problem.
    if (isFeasible ? measured == others || budget - bytes < budget / closeEnough : !hasSolution) {
      solves = mostSolves;
      return;
    }
    (isFeasible ? enough : tooFew) = others;
    const std::int64_t middle = tooFew && enough ? *tooFew + (*enough - *tooFew) / 2 : others;
    const bool isBetween = (!tooFew || *tooFew < measured) && (!enough || measured < *enough);
    const std::int64_t next = isBetween ? measured : middle;
    if (next == others || next == tooFew)
      solves = mostSolves;
    others = next;
  }

  const Recipe &recipe;
  const Machine *machine;
  std::int64_t budget;
  std::shared_ptr<BudgetDecisions> decisions;
  UnitOffloadProblem problem;
  /// The last one, and whether it is within the problem's budget.
  UnitOffloadSolution solution;
  bool hasSolution = false;
  ChosenValues attention;
  std::int64_t freedWorkspace = 0;
  /// Bytes of the plans.
  std::map<Key, std::int64_t> tried;
  /// Bytes of a plan that the problem does not have: workspace, gaps between buffers, and what recomputing adds. They
  /// differ between choices: the search is between the largest number whose choice was over the budget and the smallest
  /// one whose choice was within it.
  std::int64_t others = 0, othersOfBest = 0;
  std::optional<std::int64_t> tooFew, enough;
  int solves = 0;
};

} // namespace

Choice chooseWithinBudget(const Recipe &recipe, const Machine *machine) {
  return {.key = keys::recomputePolicy,
          .first = valuesOf(recipe, {}, {}, {}),
          .next = BudgetAlternatives(recipe, machine),
          .price = Price::model};
}

} // namespace sluice
