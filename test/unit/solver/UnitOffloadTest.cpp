//===- UnitOffloadTest.cpp - numbers of offloaded units against every choice -----------------===//
#include "passes/solver/choose/UnitOffload.h"
#include "passes/solver/choose/BudgetChecker.h"
#include "passes/solver/choose/BudgetSolver.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>

using namespace sluice;

namespace {

UnitOffloadProblem randomProblem(std::mt19937 &numbers) {
  UnitOffloadProblem problem;
  problem.stages.live.push_back(20 + int(numbers() % 50));
  for (std::size_t s = numbers() % 4; s-- > 0;) {
    problem.stages.stages.push_back({{{0, {0, 0}}, {int(numbers() % 30), {int(numbers() % 30), int(numbers() % 3)}}}});
    problem.stages.live.push_back(problem.stages.live.back() / 2 + int(numbers() % 100));
  }
  problem.stages.budget = 20 + int(numbers() % 60);
  for (std::size_t u = 1 + numbers() % 4; u-- > 0;)
    problem.unitBytes.push_back(1 + int(numbers() % 9));
  for (std::size_t kind = numbers() % 3; kind-- > 0;) {
    OffloadKind of{{}, int(numbers() % 60), std::nullopt};
    if (numbers() % 2)
      of.timeOfFirst = numbers() % 60;
    for (std::size_t k = 0; k < problem.stages.live.size(); ++k)
      of.savedBytes.push_back(int(numbers() % 60) - 5);
    problem.kinds.push_back(of);
  }
  return problem;
}

/// The time of a kind for the first units, by its definition.
std::int64_t timeOf(const UnitOffloadProblem &problem, std::size_t kind, std::size_t units) {
  const OffloadKind &of = problem.kinds[kind];
  // The known time with the fewest bytes.
  double bytes = 0, time = 0, part = 0, all = 0;
  if (of.timeOfFirst) {
    bytes = static_cast<double>(problem.unitBytes[0]);
    time = static_cast<double>(*of.timeOfFirst);
  }
  for (std::size_t u = 0; u < problem.unitBytes.size(); ++u) {
    all += static_cast<double>(problem.unitBytes[u]);
    part += u < units ? static_cast<double>(problem.unitBytes[u]) : 0;
  }
  if (units == problem.unitBytes.size())
    return of.time;
  return std::llround(time) + std::llround((static_cast<double>(of.time) - time) * ((part - bytes) / (all - bytes)));
}

TEST(UnitOffload, FindsTheLeastCostOfAllNumbersOfUnits) {
  int withUnits = 0, infeasible = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 numbers(seed);
    const UnitOffloadProblem problem = randomProblem(numbers);
    std::optional<BudgetCost> least;
    if (const auto stages = solveBudget(problem.stages))
      least = stages->cost;
    for (std::size_t kind = 0; kind < problem.kinds.size(); ++kind)
      for (std::size_t units = 1; units <= problem.unitBytes.size(); ++units)
        if (const auto stages = solveBudget(stagesWith(problem, kind, units))) {
          const BudgetCost cost = stages->cost + BudgetCost{timeOf(problem, kind, units), 0};
          if (!least || cost < *least)
            least = cost;
        }
    const std::optional<UnitOffloadSolution> found = solveUnitOffload(problem);
    ASSERT_EQ(found.has_value(), least.has_value()) << "seed " << seed;
    EXPECT_EQ(boundUnitOffload(problem), least) << "seed " << seed;
    if (!found) {
      ++infeasible;
      continue;
    }
    EXPECT_EQ(found->cost, *least) << "seed " << seed;
    EXPECT_EQ(checkBudgetSolution(stagesWith(problem, found->kind, found->units), found->stages).message(), "");
    withUnits += found->units > 0;
  }
  EXPECT_GT(withUnits, 200);
  EXPECT_GT(infeasible, 100);
}

TEST(UnitOffload, OffloadsTheFewestUnitsThatFit) {
  // Four equal units save 10 bytes each; recomputing the stage saves 10 and costs more than two units.
  UnitOffloadProblem problem;
  problem.stages.stages.assign(1, {{{0, {0, 0}}, {10, {5, 0}}}});
  problem.stages.live = {100, 100};
  problem.unitBytes = {8, 8, 8, 8};
  problem.kinds = {{{40, 40}, 8, std::nullopt}};
  for (const auto &[budget, units] : {std::pair(100, 0), {90, 1}, {81, 2}, {60, 4}}) {
    problem.stages.budget = budget;
    const std::optional<UnitOffloadSolution> found = solveUnitOffload(problem);
    ASSERT_TRUE(found) << budget;
    EXPECT_EQ(found->units, std::size_t(units)) << budget;
    EXPECT_EQ(found->cost.time, 2 * units) << budget;
  }
  problem.stages.budget = 59;
  EXPECT_FALSE(solveUnitOffload(problem));
  EXPECT_EQ(lowestPeakWithUnits(problem).stages.peak, 60);
  EXPECT_EQ(lowestPeakWithUnits(problem).units, 4u);
}

TEST(UnitOffload, UnitsHaveTheirShareByBytes) {
  UnitOffloadProblem problem;
  problem.stages.live = {100};
  problem.unitBytes = {10, 30};
  problem.kinds = {{{40}, 8, std::nullopt}};
  EXPECT_EQ(stagesWith(problem, 0, 0).live, (std::vector<std::int64_t>{100}));
  EXPECT_EQ(stagesWith(problem, 0, 1).live, (std::vector<std::int64_t>{90}));
  EXPECT_EQ(stagesWith(problem, 0, 2).live, (std::vector<std::int64_t>{60}));
}

} // namespace
