//===- PrefetchSolverTest.cpp - when the gathers of a step are issued ------------------------===//
#include "passes/solver/choose/PrefetchProblem.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

using namespace sluice;

namespace {

PrefetchIssue atUses(const PrefetchProblem &problem) {
  PrefetchIssue issue(problem.scopes.size());
  std::iota(issue.begin(), issue.end(), std::size_t(0));
  return issue;
}

/// Calls `visit` with each schedule whose gathers are issued in order, within their direction.
template <typename Visit> void forEachSchedule(const PrefetchProblem &problem, Visit visit) {
  PrefetchIssue issue = atUses(problem);
  const auto extend = [&](const auto &self, std::size_t j, std::size_t least) -> void {
    if (j == issue.size())
      return visit(issue);
    if (j > 0 && problem.scopes[j].backward != problem.scopes[j - 1].backward)
      least = j;
    for (std::size_t i = problem.scopes[j].bytes > 0 ? least : j; i <= j; ++i) {
      issue[j] = i;
      self(self, j + 1, problem.scopes[j].bytes > 0 ? i : least);
    }
  };
  extend(extend, 0, 0);
}

PrefetchProblem randomProblem(std::mt19937 &random, std::size_t scopes) {
  const auto number = [&](int most) { return std::uniform_int_distribution(0, most)(random); };
  PrefetchProblem problem;
  const std::size_t forward = scopes / 2;
  for (std::size_t i = 0; i < scopes; ++i)
    problem.scopes.push_back(
        {i >= forward, number(8) / 4.0, number(2) / 4.0, number(8) / 4.0, number(4) * 10, number(5) * 20});
  return problem;
}

TEST(PrefetchSolverTest, ComputeWaitsForGathersAtTheirUses) {
  const PrefetchProblem problem{{{false, 2, 0, 1, 10, 5}, {false, 2, 0, 1, 10, 5}, {false, 2, 0, 1, 10, 5}}, {}};
  EXPECT_EQ(prefetchSeconds(problem, {0, 1, 2}), 9);
  EXPECT_EQ(prefetchSeconds(problem, {0, 0, 1}), 7);
  EXPECT_EQ(prefetchPeak(problem, {0, 1, 2}), 5);
  EXPECT_EQ(prefetchPeak(problem, {0, 0, 0}), 25);
}

TEST(PrefetchSolverTest, GathersAreIssuedAsLateAsPossible) {
  const PrefetchProblem problem{{{false, 2, 0, 1, 10, 5}, {false, 2, 0, 1, 10, 5}, {false, 2, 0, 3, 10, 5}}, {}};
  // The last gather takes longer than the compute of one scope.
  EXPECT_EQ(solvePrefetch(problem), (PrefetchIssue{0, 0, 0}));
  PrefetchProblem shorter = problem;
  shorter.scopes[2].gather = 2;
  EXPECT_EQ(solvePrefetch(shorter), (PrefetchIssue{0, 0, 1}));
}

TEST(PrefetchSolverTest, AScopeWithoutRoomIsNotPassed) {
  PrefetchProblem problem{{{false, 2, 0, 1, 10, 5}, {false, 2, 0, 1, 10, 15}, {false, 2, 0, 1, 10, 5}}, 20};
  EXPECT_EQ(solvePrefetch(problem), (PrefetchIssue{0, 0, 2}));
}

TEST(PrefetchSolverTest, PreparationIsPartOfCompute) {
  const PrefetchProblem problem{{{false, 2, 0, 0, 0, 5}, {false, 2, 1, 2, 10, 5}}, {}};
  // Prepare, gather, compute; issued at the first scope, the gather ends with its compute.
  EXPECT_EQ(prefetchSeconds(problem, {0, 1}), 7);
  EXPECT_EQ(prefetchSeconds(problem, {0, 0}), 5);
}

TEST(PrefetchSolverTest, DirectionsAreSeparate) {
  const PrefetchProblem problem{{{false, 4, 0, 1, 10, 5}, {true, 4, 0, 1, 10, 5}}, {}};
  EXPECT_EQ(solvePrefetch(problem), (PrefetchIssue{0, 1}));
}

TEST(PrefetchSolverTest, ShortestWithoutALimit) {
  std::mt19937 random(1);
  for (int run = 0; run < 300; ++run) {
    const PrefetchProblem problem = randomProblem(random, 3 + static_cast<std::size_t>(run) % 4);
    double least = prefetchSeconds(problem, atUses(problem));
    forEachSchedule(problem,
                    [&](const PrefetchIssue &issue) { least = std::min(least, prefetchSeconds(problem, issue)); });
    EXPECT_EQ(prefetchSeconds(problem, solvePrefetch(problem)), least) << "run " << run;
  }
}

TEST(PrefetchSolverTest, WithinTheRoomAndNotAboveADistance) {
  std::mt19937 random(2);
  int best = 0, runs = 300;
  for (int run = 0; run < runs; ++run) {
    PrefetchProblem problem = randomProblem(random, 6);
    problem.room = prefetchPeak(problem, atUses(problem)) + std::uniform_int_distribution(0, 6)(random) * 10;
    const PrefetchIssue solved = solvePrefetch(problem);
    EXPECT_LE(prefetchPeak(problem, solved), *problem.room) << "run " << run;
    const double seconds = prefetchSeconds(problem, solved);
    for (std::size_t forward = 0; forward < 4; ++forward)
      for (std::size_t backward = 0; backward < 4; ++backward) {
        const PrefetchIssue issue =
            distancePrefetch(problem, backward, true, distancePrefetch(problem, forward, false, atUses(problem)));
        if (prefetchPeak(problem, issue) <= *problem.room) {
          EXPECT_LE(seconds, prefetchSeconds(problem, issue)) << "run " << run;
        }
      }
    double least = seconds;
    forEachSchedule(problem, [&](const PrefetchIssue &issue) {
      if (prefetchPeak(problem, issue) <= *problem.room)
        least = std::min(least, prefetchSeconds(problem, issue));
    });
    best += seconds == least;
  }
  // The search is a heuristic where memory is short.
  EXPECT_GE(best, runs * 9 / 10);
}

TEST(PrefetchSolverTest, ManyScopes) {
  PrefetchProblem problem;
  for (int i = 0; i < 20000; ++i)
    problem.scopes.push_back({i >= 10000, 1.0 + i % 4, 0.125, 2, 10, 5});
  problem.room = 25;
  const PrefetchIssue solved = solvePrefetch(problem);
  EXPECT_LE(prefetchPeak(problem, solved), *problem.room);
  EXPECT_LT(prefetchSeconds(problem, solved),
            prefetchSeconds(problem,
                            distancePrefetch(problem, 1, true, distancePrefetch(problem, 1, false, atUses(problem)))));
}

TEST(PrefetchSolverTest, NothingToGather) {
  EXPECT_TRUE(solvePrefetch({}).empty());
  EXPECT_EQ(solvePrefetch({{{false, 1, 0, 0, 0, 5}, {true, 1, 0, 0, 0, 5}}, 0}), (PrefetchIssue{0, 1}));
}

} // namespace
