//===- UnitOffload.cpp - units with tensors in host memory, within a memory budget -----------===//
#include "passes/solver/choose/UnitOffload.h"

#include "passes/solver/choose/BudgetSolver.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice {
namespace {

/// The part of all bytes that the first `units` units have.
double shareOf(const UnitOffloadProblem &problem, std::size_t units) {
  const auto begin = problem.unitBytes.begin();
  const auto sum = [&](std::size_t count) {
    return static_cast<double>(std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(count), std::int64_t(0)));
  };
  return units == 0 ? 0 : sum(units) / sum(problem.unitBytes.size());
}

std::int64_t timeOf(const UnitOffloadProblem &problem, std::size_t kind, std::size_t units) {
  const auto &[savedBytes, time, timeOfFirst] = problem.kinds[kind];
  if (units == 0 || units == problem.unitBytes.size())
    return units == 0 ? 0 : time;
  const double first = timeOfFirst ? shareOf(problem, 1) : 0, share = (shareOf(problem, units) - first) / (1 - first);
  const std::int64_t least = timeOfFirst.value_or(0);
  return least + std::llround(static_cast<double>(time - least) * share);
}

UnitOffloadSolution solutionOf(const UnitOffloadProblem &problem, BudgetSolution stages, std::size_t kind,
                               std::size_t units) {
  const BudgetCost cost = stages.cost + BudgetCost{timeOf(problem, kind, units), 0};
  return {std::move(stages), kind, units, cost};
}

} // namespace

BudgetProblem stagesWith(const UnitOffloadProblem &problem, std::size_t kind, std::size_t units) {
  BudgetProblem stages = problem.stages;
  const double share = shareOf(problem, units);
  for (std::size_t k = 0; units > 0 && k < stages.live.size(); ++k)
    stages.live[k] -= std::llround(static_cast<double>(problem.kinds[kind].savedBytes[k]) * share);
  return stages;
}

std::optional<UnitOffloadSolution> solveUnitOffload(const UnitOffloadProblem &problem) {
  std::optional<UnitOffloadSolution> best;
  const auto consider = [&](std::size_t kind, std::size_t units) {
    std::optional<BudgetSolution> stages = solveBudget(stagesWith(problem, kind, units));
    if (!stages)
      return;
    UnitOffloadSolution solution = solutionOf(problem, std::move(*stages), kind, units);
    if (!best || solution.cost < best->cost)
      best = std::move(solution);
  };
  consider(0, 0);
  for (std::size_t kind = 0; kind < problem.kinds.size(); ++kind) {
    // No number of units leaves more room, so the stages cost no less.
    BudgetProblem roomiest = problem.stages;
    for (std::size_t k = 0; k < roomiest.live.size(); ++k)
      roomiest.live[k] -= std::max<std::int64_t>(problem.kinds[kind].savedBytes[k], 0);
    const std::optional<BudgetSolution> least = solveBudget(roomiest);
    for (std::size_t units = 1; least && units <= problem.unitBytes.size(); ++units)
      if (!best || least->cost + BudgetCost{timeOf(problem, kind, units), 0} < best->cost)
        consider(kind, units);
  }
  return best;
}

std::optional<BudgetCost> boundUnitOffload(const UnitOffloadProblem &problem) {
  std::optional<BudgetCost> least = boundBudget(problem.stages);
  for (std::size_t kind = 0; kind < problem.kinds.size(); ++kind)
    for (std::size_t units = 1; units <= problem.unitBytes.size(); ++units)
      if (const std::optional<BudgetCost> bound = boundBudget(stagesWith(problem, kind, units))) {
        const BudgetCost cost = *bound + BudgetCost{timeOf(problem, kind, units), 0};
        if (!least || cost < *least)
          least = cost;
      }
  return least;
}

UnitOffloadSolution lowestPeakWithUnits(const UnitOffloadProblem &problem) {
  UnitOffloadSolution best = solutionOf(problem, lowestPeak(problem.stages), 0, 0);
  for (std::size_t kind = 0; kind < problem.kinds.size(); ++kind) {
    const std::size_t all = problem.unitBytes.size();
    UnitOffloadSolution solution = solutionOf(problem, lowestPeak(stagesWith(problem, kind, all)), kind, all);
    if (solution.stages.peak < best.stages.peak)
      best = std::move(solution);
  }
  return best;
}

} // namespace sluice
