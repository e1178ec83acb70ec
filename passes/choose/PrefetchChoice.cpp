//===- PrefetchChoice.cpp - when gathers are issued -------------------------------------------===//
#include "passes/choose/Search.h"
#include "passes/solver/choose/PlanScopes.h"

#include <algorithm>

namespace sluice {
namespace {

/// Plans with a prefetch schedule that are compiled at most: each one over the budget reduces the room of the next.
constexpr int mostSchedules = 4;

/// The values of the two keys of prefetch.
ChosenValues prefetchValues(RecipeValue forward, RecipeValue backward) {
  return {{keys::forwardPrefetch, std::move(forward)}, {keys::backwardPrefetch, std::move(backward)}};
}

ChosenValues distances(std::int64_t forward, std::int64_t backward) { return prefetchValues(forward, backward); }

/// The tables by unit of a schedule.
ChosenValues tablesOf(const PlanScopes &scopes, const PrefetchIssue &issue) {
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
  return prefetchValues(valueOf(tables[0]), valueOf(tables[1]));
}

std::vector<PrefetchDecision> decisionsOf(const PlanScopes &scopes, const PrefetchIssue &issue) {
  std::vector<PrefetchDecision> decisions;
  for (std::size_t j = 0; j < issue.size(); ++j)
    if (const PrefetchScope &scope = scopes.problem.scopes[j]; scope.bytes > 0)
      decisions.push_back({scopes.units[j], scope.backward, scopes.units[issue[j]], scope.bytes, scope.gather});
  return decisions;
}

/// Gathers at their uses, then schedules of the solver until one is within the budget, then distances: the schedule
/// does not know reductions and the step before.
class PrefetchAlternatives {
public:
  PrefetchAlternatives(const Recipe &recipe, const Machine &machine) : recipe(recipe), machine(machine) {}

  Result<std::optional<Decided>> operator()(const Progress &progress) {
    if (tried.empty()) {
      tried = {distances(1, 1)};
      return alternative(progress, distances(0, 0));
    }
    if (tried.size() == 2) {
      // With any other schedule more gathers are live.
      if (progress.search.isTooLarge(progress.last.plan))
        return std::optional<Decided>();
      readProblem(progress.last.plan);
    } else if (schedules > 0 && !isDistance) {
      const std::int64_t excess = recipe.memory.budget ? progress.last.plan.deviceBytes - *recipe.memory.budget : 0;
      if (excess <= 0)
        schedules = mostSchedules;
      else
        *scopes.problem.room -= excess;
    }
    if (scopes.isByUnit && schedules < mostSchedules) {
      ++schedules;
      const PrefetchIssue issue = solvePrefetch(scopes.problem);
      return alternative(progress, tablesOf(scopes, issue), decisionsOf(scopes, issue));
    }
    return nextDistance(progress);
  }

private:
  std::optional<Decided> alternative(const Progress &progress, const ChosenValues &values,
                                     std::vector<PrefetchDecision> prefetch = {}) {
    tried.push_back(values);
    Decided decided = withValues(progress.before, values);
    decided.prefetch = std::move(prefetch);
    return decided;
  }

  void readProblem(const CompiledPlan &plan) {
    if (const std::optional<std::uint32_t> entry = trainedEntry(plan.file.plan))
      scopes = readScopes(plan.file.plan, *entry, machine);
    PrefetchIssue atUses;
    while (atUses.size() < scopes.units.size())
      atUses.push_back(atUses.size());
    // Workspace and gaps between buffers need room too.
    if (recipe.memory.budget)
      scopes.problem.room = *recipe.memory.budget - (plan.deviceBytes - prefetchPeak(scopes.problem, atUses));
  }

  /// Distances of the forward, then those of the backward.
  std::optional<Decided> nextDistance(const Progress &progress) {
    const std::vector<std::int64_t> numbers = comparedNumbers(0, static_cast<std::int64_t>(scopes.units.size()));
    // A greater distance has all these gathers live, and more.
    if (isDistance && progress.search.isTooLarge(progress.last.plan))
      distance = (distance + numbers.size() - 1) / numbers.size() * numbers.size();
    isDistance = true;
    while (distance < 2 * numbers.size()) {
      const bool isBackward = distance >= numbers.size();
      RecipeValue values[2];
      for (int direction : {0, 1})
        values[direction] = valueOf(progress.best.values, prefetchKeys[direction], recipe);
      values[isBackward] = numbers[distance++ % numbers.size()];
      ChosenValues changed = prefetchValues(values[0], values[1]);
      if (std::ranges::find(tried, changed) == tried.end())
        return alternative(progress, changed);
    }
    return std::nullopt;
  }

  static constexpr const char *prefetchKeys[] = {keys::forwardPrefetch, keys::backwardPrefetch};

  const Recipe &recipe;
  const Machine &machine;
  PlanScopes scopes;
  std::vector<ChosenValues> tried;
  int schedules = 0;
  /// The last alternative was a distance; the position of the next.
  bool isDistance = false;
  std::size_t distance = 0;
};

} // namespace

Choice choosePrefetch(const Recipe &recipe, const Machine *machine) {
  // Room for one unit is left until the schedule is known.
  return {.key = keys::forwardPrefetch,
          .first = distances(1, 1),
          .next = PrefetchAlternatives(recipe, *machine),
          .from = "partition"};
}

} // namespace sluice
