//===- BudgetSolverTest.cpp - choices within a budget against every choice ------------------===//
#include "passes/solver/choose/BudgetSolver.h"
#include "passes/solver/choose/BudgetChecker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

using namespace sluice;

namespace {

/// The least cost of all choices within the budget.
std::optional<BudgetCost> leastCost(const BudgetProblem &problem) {
  std::optional<BudgetCost> least;
  std::vector<std::uint32_t> chosen(problem.stages.size(), 0);
  while (true) {
    std::int64_t saved = 0;
    BudgetCost cost;
    bool fits = problem.live[0] <= problem.budget;
    for (std::size_t s = 0; s < chosen.size(); ++s) {
      const BudgetAlternative &alternative = problem.stages[s].alternatives[chosen[s]];
      saved += alternative.savedBytes;
      cost = cost + alternative.cost;
      fits = fits && problem.live[s + 1] - saved + alternative.inFlightBytes <= problem.budget;
    }
    if (fits && (!least || cost < *least))
      least = cost;
    std::size_t s = 0;
    while (s < chosen.size() && ++chosen[s] == problem.stages[s].alternatives.size())
      chosen[s++] = 0;
    if (s == chosen.size())
      return least;
  }
}

/// Alternatives that save and cost, some of them with bytes in flight, and some that need more bytes and cost less.
/// `classes`: distinct stages.
BudgetProblem randomProblem(std::mt19937 &numbers, std::size_t stages, std::size_t classes) {
  std::vector<BudgetStage> kinds(classes);
  for (BudgetStage &kind : kinds) {
    kind.alternatives.push_back({});
    for (std::size_t a = numbers() % 3; a-- > 0;) {
      const auto saved = int(numbers() % 40);
      kind.alternatives.push_back({saved,
                                   {int(numbers() % 30), int(numbers() % 3)},
                                   numbers() % 2 == 0 ? 0 : int(numbers() % 40) * saved / 40});
    }
    if (numbers() % 3 == 0)
      kind.alternatives.push_back({-int(numbers() % 20), {-int(numbers() % 10), -int(numbers() % 3)}});
  }
  BudgetProblem problem;
  problem.live.push_back(int(numbers() % 50));
  for (std::size_t s = 0; s < stages; ++s) {
    problem.stages.push_back(kinds[numbers() % classes]);
    problem.live.push_back(problem.live.back() / 2 + int(numbers() % 100));
  }
  problem.budget = 20 + int(numbers() % 80);
  return problem;
}

TEST(BudgetSolver, FindsTheLeastCostOfAllChoices) {
  int feasible = 0, infeasible = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 numbers(seed);
    const BudgetProblem problem = randomProblem(numbers, numbers() % 7, 1 + numbers() % 3);
    const std::optional<BudgetCost> least = leastCost(problem);
    const std::optional<BudgetSolution> found = solveBudget(problem);
    ASSERT_EQ(found.has_value(), least.has_value()) << "seed " << seed;
    ++(least ? feasible : infeasible);
    if (!least) {
      EXPECT_GT(lowestPeak(problem).peak, problem.budget) << "seed " << seed;
      continue;
    }
    EXPECT_EQ(found->cost, *least) << "seed " << seed;
    EXPECT_EQ(boundBudget(problem), least) << "seed " << seed;
    EXPECT_EQ(checkBudgetSolution(problem, *found).message(), "") << "seed " << seed;
    EXPECT_LE(lowestPeak(problem).peak, problem.budget) << "seed " << seed;
  }
  EXPECT_GT(feasible, 500);
  EXPECT_GT(infeasible, 100);
}

// With few states the choice is within the budget, and the bound is below the least cost.
TEST(BudgetSolver, BoundsTheCostWithFewStates) {
  int exact = 0, solved = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 numbers(seed);
    const BudgetProblem problem = randomProblem(numbers, 4 + numbers() % 4, 4);
    const std::optional<BudgetCost> least = leastCost(problem);
    const std::optional<BudgetSolution> found = solveBudget(problem, 3);
    ASSERT_EQ(found.has_value(), least.has_value()) << "seed " << seed;
    if (!least)
      continue;
    EXPECT_LE(*boundBudget(problem, 3), *least) << "seed " << seed;
    ++solved;
    exact += found->cost == *boundBudget(problem, 3);
    EXPECT_GE(found->cost, *least) << "seed " << seed;
    EXPECT_EQ(checkBudgetSolution(problem, *found).message(), "") << "seed " << seed;
  }
  EXPECT_GT(solved, 500);
  EXPECT_LT(exact, solved);
}

TEST(BudgetSolver, RecomputesTheFirstOfEqualStages) {
  // The last stage's values are live in its backward in either case, so it saves nothing there.
  BudgetProblem problem;
  problem.stages.assign(4, {{{0, {0, 0}}, {10, {1, 0}}}});
  problem.live = {10, 20, 30, 40, 40};
  problem.budget = 20;
  const std::optional<BudgetSolution> found = solveBudget(problem);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cost.time, 2);
  EXPECT_EQ(found->peak, 20);
  EXPECT_LT(found->chosen[3] + found->chosen[2], 2u);
}

TEST(BudgetSolver, BytesInFlightAreLiveDuringTheNextStage) {
  // The second stage's bytes are in flight where most bytes are live.
  BudgetProblem problem;
  problem.stages.assign(2, {{{0, {0, 0}}, {10, {1, 0}, 10}, {10, {5, 0}}}});
  problem.live = {0, 10, 40};
  problem.budget = 20;
  const std::optional<BudgetSolution> found = solveBudget(problem);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->chosen, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(found->peak, 20);
  EXPECT_EQ(lowestPeak(problem).peak, 20);
}

TEST(BudgetSolver, ManyEqualStagesHaveFewStates) {
  BudgetProblem problem;
  problem.stages.assign(500, {{{0, {0, 0}}, {7, {3, 0}}, {11, {5, 0}}}});
  problem.live.push_back(0);
  for (int k = 1; k <= 500; ++k)
    problem.live.push_back(20 * k);
  problem.budget = 7500;
  const std::optional<BudgetSolution> found = solveBudget(problem);
  ASSERT_TRUE(found);
  EXPECT_EQ(checkBudgetSolution(problem, *found).message(), "");
  EXPECT_LE(*boundBudget(problem), found->cost);
}

TEST(BudgetChecker, RefusesWrongSolutions) {
  BudgetProblem problem;
  problem.stages.assign(2, {{{0, {0, 0}}, {10, {1, 5}}}});
  problem.live = {0, 20, 30};
  problem.budget = 25;
  const BudgetSolution right{{1, 0}, {1, 5}, 20};
  EXPECT_EQ(checkBudgetSolution(problem, right).message(), "");
  BudgetSolution wrong = right;
  wrong.chosen = {1};
  EXPECT_EQ(checkBudgetSolution(problem, wrong).message(), "choice of 1 alternatives for 2 stages");
  wrong.chosen = {1, 2};
  EXPECT_EQ(checkBudgetSolution(problem, wrong).message(), "stage 1 has no alternative 2");
  wrong = right;
  wrong.cost.time = 2;
  EXPECT_EQ(checkBudgetSolution(problem, wrong).message(),
            "the choice costs 1 and 5 bytes, but the solution states 2 and 5");
  wrong = right;
  wrong.peak = 19;
  EXPECT_EQ(checkBudgetSolution(problem, wrong).message(), "the peak is 20 bytes, but the solution states 19");
  wrong = {{0, 0}, {0, 0}, 30};
  EXPECT_EQ(checkBudgetSolution(problem, wrong).message(),
            "30 bytes are live after 2 stages, more than the budget of 25");
}

} // namespace
