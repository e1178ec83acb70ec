//===- Planner.cpp - settings that the compiler chooses -------------------------------------===//
#include "passes/Planner.h"

#include "passes/ScheduleChoice.h"
#include "passes/UnitChoice.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/solver/choose/PlanScopes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"

#include <algorithm>

namespace sluice {
namespace {

/// Plans with a prefetch schedule that are compiled at most: each one over the budget reduces the room of the next.
constexpr int mostSchedules = 4;

/// The values of the two keys of prefetch.
struct Prefetch {
  RecipeValue forward, backward;
  bool operator==(const Prefetch &) const = default;
  ChosenValues addTo(ChosenValues values) const {
    values.emplace_back(forwardPrefetchKey, forward);
    values.emplace_back(backwardPrefetchKey, backward);
    return values;
  }
};

/// The tables by unit of a schedule.
Prefetch prefetchTables(const PlanScopes &scopes, const PrefetchIssue &issue) {
  RecipeTable tables[2];
  for (std::size_t j = 0; j < issue.size(); ++j) {
    if (issue[j] == j)
      continue;
    std::vector<RecipeTableEntry> &entries = tables[scopes.problem.scopes[j].backward].entries;
    const std::string &unit = scopes.units[issue[j]];
    auto found = std::ranges::find(entries, unit, &RecipeTableEntry::name);
    if (found == entries.end())
      found = entries.insert(found, {unit, Strings()});
    std::get<Strings>(found->value).push_back(scopes.units[j]);
  }
  const auto valueOf = [](RecipeTable &table) {
    std::ranges::sort(table.entries, {}, &RecipeTableEntry::name);
    return table.entries.empty() ? RecipeValue(std::int64_t(0)) : RecipeValue(std::move(table));
  };
  return {valueOf(tables[0]), valueOf(tables[1])};
}

/// The choice for one division into units.
class Planner {
public:
  Planner(mlir::ModuleOp module, const Recipe &recipe, const Machine *machine)
      : module(module), recipe(recipe), machine(machine), comparison(recipe, machine) {}

  Result<PlanChoice> choose(const ChosenValues &units, bool isQuiet) {
    PlanChoice choice;
    // Room for one unit is left until the schedule is known.
    const bool choosesPrefetch = recipe.schedule.choosesPrefetch();
    const ChosenValues fixed = choosesPrefetch ? Prefetch{std::int64_t(1), std::int64_t(1)}.addTo(units) : units;
    ChosenValues withoutPrefetch = units;
    if (recipe.recompute.policy.isEverywhere(RecomputePolicy::budget)) {
      SLUICE_ASSIGN_OR_RETURN(choice.budget, chooseWithinBudget(module, recipe, machine, fixed, isQuiet));
      comparison.plans += choice.budget->plans;
      choice.values = choice.budget->values;
      choice.plan = std::move(choice.budget->trial);
      withoutPrefetch.insert(withoutPrefetch.end(), choice.values.begin() + static_cast<std::ptrdiff_t>(fixed.size()),
                             choice.values.end());
    } else {
      choice.values = fixed;
      SLUICE_ASSIGN_OR_RETURN(choice.plan, comparison.compile(module, fixed, isQuiet));
    }
    SLUICE_RETURN_IF_ERROR(comparison.judge(choice));
    if (choosesPrefetch)
      SLUICE_RETURN_IF_ERROR(choosePrefetch(withoutPrefetch, choice));
    if (recipe.sharding.choosesAfterBackward()) {
      const ChosenValues &chosen = choice.values;
      const auto forward = std::ranges::find(chosen, afterForwardKey, &ChosenValues::value_type::first);
      const RecipeValue reshard = forward == chosen.end() ? recipe.value(afterForwardKey) : forward->second;
      SLUICE_RETURN_IF_ERROR(compareSetting(module, afterBackwardKey,
                                            afterBackwardAlternatives(choice.plan.file.plan, recipe, reshard),
                                            /*isPriced=*/true, comparison, choice));
    }
    if (recipe.schedule.choosesReduceBuffers()) {
      mlir::OwningOpRef<mlir::ModuleOp> partitioned = module.clone();
      SLUICE_RETURN_IF_ERROR(setRecipeValues(*partitioned, choice.values));
      SLUICE_RETURN_IF_ERROR(runPhases(*partitioned, findPhase("partition")));
      SLUICE_RETURN_IF_ERROR(compareSetting(*partitioned, reduceBuffersKey,
                                            reduceBufferAlternatives(choice.plan.file.plan), /*isPriced=*/false,
                                            comparison, choice));
    }
    return choice;
  }

  /// Number of plans that were compiled.
  int compiledPlans() const { return comparison.plans; }

private:
  /// Replaces the plan with a distance of 1 by a better one: with the schedule of the solver, or another distance.
  Status choosePrefetch(const ChosenValues &values, PlanChoice &choice) {
    mlir::OwningOpRef<mlir::ModuleOp> partitioned = module.clone();
    SLUICE_RETURN_IF_ERROR(setRecipeValues(*partitioned, Prefetch{std::int64_t(1), std::int64_t(1)}.addTo(values)));
    SLUICE_RETURN_IF_ERROR(runPhases(*partitioned, findPhase("partition")));
    Prefetch best{std::int64_t(1), std::int64_t(1)};
    std::vector<Prefetch> tried = {best};
    const auto compile = [&](const Prefetch &prefetch) -> Result<PlanChoice> {
      tried.push_back(prefetch);
      PlanChoice compiled;
      compiled.values = prefetch.addTo(values);
      SLUICE_ASSIGN_OR_RETURN(compiled.plan, comparison.compileCompared(*partitioned, prefetch.addTo({})));
      return compiled;
    };
    const auto consider = [&](PlanChoice compiled, const Prefetch &prefetch) -> Status {
      SLUICE_RETURN_IF_ERROR(comparison.judge(compiled));
      if (!isBetter(compiled, choice))
        return Status::ok();
      best = prefetch;
      compiled.budget = std::move(choice.budget);
      choice = std::move(compiled);
      return Status::ok();
    };

    const Prefetch atUse{std::int64_t(0), std::int64_t(0)};
    SLUICE_ASSIGN_OR_RETURN(PlanChoice compiled, compile(atUse));
    // With any other schedule more gathers are live.
    if (comparison.isTooLarge(compiled.plan))
      return consider(std::move(compiled), atUse);
    PlanScopes scopes;
    if (const std::optional<std::uint32_t> entry = trainedEntry(compiled.plan.file.plan))
      scopes = readScopes(compiled.plan.file.plan, *entry, *machine);
    // Workspace and gaps between buffers need room too.
    if (recipe.memory.budget)
      scopes.problem.room =
          *recipe.memory.budget - (compiled.plan.deviceBytes - prefetchPeak(scopes.problem, atUses(scopes)));
    SLUICE_RETURN_IF_ERROR(consider(std::move(compiled), atUse));
    for (int schedules = 0; scopes.isByUnit && schedules < mostSchedules; ++schedules) {
      const PrefetchIssue issue = solvePrefetch(scopes.problem);
      const Prefetch tables = prefetchTables(scopes, issue);
      SLUICE_ASSIGN_OR_RETURN(compiled, compile(tables));
      compiled.prefetch = decisionsOf(scopes, issue);
      const std::int64_t excess = recipe.memory.budget ? compiled.plan.deviceBytes - *recipe.memory.budget : 0;
      SLUICE_RETURN_IF_ERROR(consider(std::move(compiled), tables));
      if (excess <= 0)
        break;
      *scopes.problem.room -= excess;
    }
    // The schedule does not know reductions and the step before.
    for (RecipeValue Prefetch::*direction : {&Prefetch::forward, &Prefetch::backward})
      for (std::int64_t distance : comparedNumbers(0, static_cast<std::int64_t>(scopes.units.size()))) {
        Prefetch changed = best;
        changed.*direction = distance;
        if (std::ranges::find(tried, changed) != tried.end())
          continue;
        SLUICE_ASSIGN_OR_RETURN(compiled, compile(changed));
        // A greater distance has all these gathers live, and more.
        const bool isTooFar = comparison.isTooLarge(compiled.plan);
        SLUICE_RETURN_IF_ERROR(consider(std::move(compiled), changed));
        if (isTooFar)
          break;
      }
    if (!recipe.memory.budget) {
      SLUICE_ASSIGN_OR_RETURN(choice.plan, comparison.compile(*partitioned, best.addTo({})));
    }
    return Status::ok();
  }

  static PrefetchIssue atUses(const PlanScopes &scopes) {
    PrefetchIssue issue;
    while (issue.size() < scopes.units.size())
      issue.push_back(issue.size());
    return issue;
  }

  static std::vector<PrefetchDecision> decisionsOf(const PlanScopes &scopes, const PrefetchIssue &issue) {
    std::vector<PrefetchDecision> decisions;
    for (std::size_t j = 0; j < issue.size(); ++j)
      if (const PrefetchScope &scope = scopes.problem.scopes[j]; scope.bytes > 0)
        decisions.push_back({scopes.units[j], scope.backward, scopes.units[issue[j]], scope.bytes, scope.gather});
    return decisions;
  }

  mlir::ModuleOp module;
  const Recipe &recipe;
  const Machine *machine;
  PlanComparison comparison;
};

} // namespace

/// The best choice over the divisions into units, for a module after the phase `optimize`. Warnings and remarks are
/// emitted once, or not at all if `isQuiet`.
static Result<PlanChoice> chooseDivision(mlir::ModuleOp module, const Recipe &recipe, const Machine *machine,
                                         bool isQuiet) {
  // Settings that are compared when the others are chosen begin with their first alternative.
  ChosenValues first;
  if (recipe.schedule.choosesReduceBuffers())
    first.emplace_back(reduceBuffersKey, std::int64_t(1));
  if (recipe.sharding.choosesAfterBackward())
    first.push_back(afterBackwardAlternatives({}, recipe, {}).front().front());
  std::vector<ChosenValues> divisions = {first};
  if (recipe.sharding.choosesUnits()) {
    divisions[0].emplace_back(unitsKey, std::string("block"));
    if (std::optional<RecipeTable> split = splitRootUnit(module)) {
      divisions.push_back(first);
      divisions.back().emplace_back(unitsKey, std::move(*split));
    }
  }
  Planner planner(module, recipe, machine);
  std::optional<PlanChoice> best;
  for (const ChosenValues &units : divisions) {
    SLUICE_ASSIGN_OR_RETURN(PlanChoice choice, planner.choose(units, isQuiet || best.has_value()));
    if (!best || isBetter(choice, *best))
      best = std::move(choice);
  }
  best->choosesUnits = recipe.sharding.choosesUnits();
  best->plans = planner.compiledPlans();
  return std::move(*best);
}

/// Diagnostics are emitted unless the plan is over the budget: then another one is compiled.
static Result<CompiledPlan> compileWithDnn(mlir::ModuleOp module) {
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

bool leavesChoices(const Recipe &recipe) {
  return recipe.recompute.policy.isEverywhere(RecomputePolicy::budget) || recipe.schedule.choosesPrefetch() ||
         recipe.schedule.choosesReduceBuffers() || recipe.sharding.choosesUnits() ||
         recipe.sharding.choosesAfterBackward();
}

Result<std::optional<PlanChoice>> makeChoices(mlir::ModuleOp module, const Machine *machine,
                                              llvm::function_ref<Status(unsigned, const PipelinePhase &)> afterPhase) {
  SLUICE_ASSIGN_OR_RETURN(Recipe recipe, attachedRecipe(module));
  const PipelinePhase *const done = findPhase(compiledTo(module));
  // With cuDNN if a plan with it is within the budget.
  const bool choosesAttention =
      recipe.choosesAttention() && recipe.memory.budget && (!done || done < findPhase("streams"));
  if (!leavesChoices(recipe)) {
    PlanChoice choice;
    if (!choosesAttention)
      return std::optional<PlanChoice>();
    SLUICE_ASSIGN_OR_RETURN(choice.plan, compileWithDnn(module));
    choice.isFeasible = choice.plan.overBudget.empty();
    if (choice.isFeasible)
      return std::optional(std::move(choice));
    SLUICE_RETURN_IF_ERROR(setRecipeValues(module, ownAttention));
    return std::optional<PlanChoice>();
  }
  const PipelinePhase *const before = findPhase("optimize");
  if (done && done > before)
    return std::optional<PlanChoice>();
  SLUICE_RETURN_IF_ERROR(recipe.resolve());
  for (const auto &[key, isOpen] : {std::pair(forwardPrefetchKey, recipe.schedule.choosesPrefetch()),
                                    std::pair(reduceBuffersKey, recipe.schedule.choosesReduceBuffers()),
                                    std::pair(afterBackwardKey, recipe.sharding.choosesAfterBackward())})
    if (isOpen && !machine)
      return inputError(recipe.origin(key) + ": '" + key + "' = \"auto\" requires the times of a machine")
          .withNote("give --machine FILE, such as a file of tools/machines");
  if (recipe.recompute.policy.isEverywhere(RecomputePolicy::budget) && !machine &&
      (recipe.memory.offloads(Offloaded::activations) || recipe.memory.choosesOffload()))
    return inputError(recipe.origin("memory.offload") + ": \"" +
                      (recipe.memory.choosesOffload() ? "auto" : "activations") +
                      "\" in 'memory.offload' with 'recompute.policy' = \"budget\" requires the times of a machine")
        .withNote("give --machine FILE, such as a file of tools/machines");
  SLUICE_RETURN_IF_ERROR(runPhases(module, before, afterPhase));
  SLUICE_ASSIGN_OR_RETURN(PlanChoice choice, chooseDivision(module, recipe, machine, /*isQuiet=*/false));
  if (choosesAttention && !choice.isFeasible &&
      std::ranges::find(choice.values, ownAttention[0]) == choice.values.end()) {
    SLUICE_RETURN_IF_ERROR(setRecipeValues(module, ownAttention));
    SLUICE_ASSIGN_OR_RETURN(choice, chooseDivision(module, recipe, machine, /*isQuiet=*/true));
  }
  SLUICE_RETURN_IF_ERROR(setRecipeValues(module, choice.values));
  return std::optional(std::move(choice));
}

} // namespace sluice
