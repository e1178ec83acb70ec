//===- SplitSearchTest.cpp - values for variables that interact within groups -------------===//

#include "passes/solver/choose/SplitSearch.h"

#include <gtest/gtest.h>

#include <random>

using namespace sluice;

namespace {

using Values = std::vector<unsigned>;

/// All assignments, for the least cost.
double leastCost(const SplitProblem &problem, Values values, std::size_t at = 0) {
  if (at == values.size())
    return problem.cost(values).value_or(1e9);
  double least = 1e9;
  for (values[at] = 0; values[at] < problem.values; ++values[at])
    least = std::min(least, leastCost(problem, values, at + 1));
  return least;
}

TEST(SplitSearch, WithoutVariables) {
  SplitProblem problem;
  problem.cost = [](const Values &) { return 3.0; };
  const SplitSolution solution = searchSplits(problem);
  EXPECT_TRUE(solution.values.empty());
  EXPECT_EQ(solution.cost, 3);
  EXPECT_EQ(solution.evaluations, 1u);
  problem.groups = {{}, {}};
  EXPECT_TRUE(searchSplits(problem).values.empty());
}

TEST(SplitSearch, SmallGroupsAreSearchedCompletely) {
  // Costs within a group are random, so nothing but all combinations finds the least.
  std::mt19937 random(7);
  for (int repeat = 0; repeat < 20; ++repeat) {
    SplitProblem problem;
    problem.groups = {{0, 2, 4}, {1, 3}};
    problem.values = 3;
    std::vector<double> first(27), second(9);
    for (double &cost : first)
      cost = static_cast<double>(random() % 1000);
    for (double &cost : second)
      cost = static_cast<double>(random() % 1000);
    problem.cost = [&](const Values &v) -> std::optional<double> {
      return first[v[0] + 3 * v[2] + 9 * v[4]] + second[v[1] + 3 * v[3]];
    };
    EXPECT_EQ(searchSplits(problem).cost, leastCost(problem, Values(5)));
  }
}

/// A group of five that costs less only if 1, 2 and 3 have the value 1 and 4 the value 2, as an attention does.
SplitProblem attention() {
  SplitProblem problem;
  problem.groups = {{0, 1, 2, 3, 4}};
  problem.values = 3;
  problem.mostCombinations = 100;
  problem.cost = [](const Values &v) -> std::optional<double> {
    const bool isWhole = v[1] == 1 && v[2] == 1 && v[3] == 1 && v[4] == 2;
    double cost = isWhole ? 10 : 100;
    for (std::size_t i = 1; i < 5 && !isWhole; ++i)
      cost += v[i] == 0 ? 0 : 20;
    return cost + (v[0] == 2 ? 0 : 5);
  };
  return problem;
}

TEST(SplitSearch, MovesLeadOutOfALocalMinimum) {
  SplitProblem problem = attention();
  EXPECT_EQ(searchSplits(problem).cost, 100);
  problem.moves = {{{4, 2}, {1, 1}, {2, 1}, {3, 1}}};
  const SplitSolution solution = searchSplits(problem);
  EXPECT_EQ(solution.cost, 10);
  EXPECT_EQ(solution.values, (Values{2, 1, 1, 1, 2}));
}

TEST(SplitSearch, PairsChangeTogether) {
  SplitProblem problem = attention();
  problem.cost = [](const Values &v) -> std::optional<double> {
    return v[2] == 1 && v[3] == 2 ? 1 : 5.0 + (v[2] != 0 || v[3] != 0);
  };
  EXPECT_EQ(searchSplits(problem).cost, 1);
}

TEST(SplitSearch, ImpossibleValuesAreNotChosen) {
  SplitProblem problem = attention();
  problem.mostCombinations = 1000;
  problem.cost = [](const Values &v) -> std::optional<double> {
    if (v[0] == 1)
      return std::nullopt;
    return v[0] == 2 ? 2 : 3;
  };
  const SplitSolution solution = searchSplits(problem);
  EXPECT_EQ(solution.values[0], 2u);
  EXPECT_EQ(solution.evaluations, 243u);
}

TEST(SplitSearch, EqualCostsChangeNothing) {
  SplitProblem problem = attention();
  problem.cost = [](const Values &) -> std::optional<double> { return 1; };
  EXPECT_EQ(searchSplits(problem).values, Values(5));
}

} // namespace
