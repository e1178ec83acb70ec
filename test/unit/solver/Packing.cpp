//===- Packing.cpp - the packing solver and its checker -------------------------------===//
#include "passes/solver/PackingChecker.h"
#include "passes/solver/PackingIntervals.h"
#include "passes/solver/PackingSolver.h"

#include <gtest/gtest.h>

#include <random>
#include <tuple>

using namespace sluice;

namespace {

PackingProblem randomProblem(unsigned seed, int count, std::uint64_t alignment) {
  std::mt19937 numbers(seed);
  PackingProblem problem;
  problem.alignment = alignment;
  for (int b = 0; b < count; ++b) {
    const std::uint32_t begin = numbers() % 200;
    problem.buffers.push_back(
        {"b" + std::to_string(b), 1 + numbers() % 5000, begin, begin + 1 + std::uint32_t(numbers() % 40)});
  }
  return problem;
}

/// The lifespans of a training step: activations of the forward end in reverse order in the backward.
PackingProblem stepLike(int layers) {
  PackingProblem problem;
  problem.alignment = 256;
  const std::uint32_t last = layers * 40;
  std::mt19937 numbers(7);
  for (int layer = 0; layer < layers; ++layer) {
    const std::uint32_t forward = layer * 10, backward = last - 10 - forward;
    for (std::uint32_t k = 0; k < 8; ++k) {
      problem.buffers.push_back({"act", 4096 + 1024 * (numbers() % 9), forward + k, backward + 10 - k});
      problem.buffers.push_back({"tmp", 2048 + 512 * (numbers() % 17), forward + k, forward + k + 2});
      problem.buffers.push_back({"grad", 2048 + 512 * (numbers() % 17), backward + k, backward + k + 3});
    }
    problem.buffers.push_back({"gathered", 30000, forward >= 10 ? forward - 10 : 0, forward + 10});
    problem.buffers.push_back({"gathered", 30000, backward - 5, backward + 12});
  }
  return problem;
}

using Parameters = std::tuple<PackingOrder, PackingFit, int, std::uint64_t>;
class EveryGreedy : public testing::TestWithParam<Parameters> {};

TEST_P(EveryGreedy, SolutionPassesTheChecker) {
  const auto [order, fit, count, alignment] = GetParam();
  for (unsigned seed = 0; seed < 5; ++seed) {
    const PackingProblem problem = randomProblem(seed, count, alignment);
    const PackingSolution solution = placeInOrder(problem, order, fit);
    const Status status = checkPacking(problem, solution);
    EXPECT_TRUE(status.isOk()) << status.message();
    EXPECT_GE(solution.height, largestLiveSum(problem, 1));
  }
}

// A buffer that is reserved early has its bytes at the end of the run, and from the first instant on.
TEST(PackingAhead, IsKept) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    PackingProblem problem = randomProblem(seed, 40, 64);
    std::mt19937 numbers(seed);
    for (PackingBuffer &buffer : problem.buffers)
      if (numbers() % 5 == 0)
        buffer.reservedFrom = 100 + numbers() % 150;
    const PackingSolution solution = solvePacking(problem);
    const Status status = checkPacking(problem, solution);
    EXPECT_TRUE(status.isOk()) << status.message();
    EXPECT_GE(solution.height, largestLiveSum(problem, 1));
  }
  PackingProblem two;
  two.buffers = {{"early", 10, 2, 4, 8}, {"late", 10, 8, 10, 0}};
  PackingSolution shared;
  shared.offsets = {0, 0};
  shared.height = 10;
  EXPECT_NE(checkPacking(two, shared).message().find("no byte in common at instant 8"), std::string::npos);
  EXPECT_EQ(largestLiveSum(two, 1), 20u);
  two.buffers[1] = {"between", 10, 4, 8, 0};
  EXPECT_TRUE(checkPacking(two, shared).isOk());
  two.buffers[1] = {"before", 10, 0, 1, 0};
  EXPECT_FALSE(checkPacking(two, shared).isOk());
}

INSTANTIATE_TEST_SUITE_P(Packing, EveryGreedy,
                         testing::Combine(testing::ValuesIn(packingOrders),
                                          testing::Values(PackingFit::first, PackingFit::best),
                                          testing::Values(0, 1, 2, 17, 150),
                                          testing::Values(std::uint64_t(1), std::uint64_t(256))));

TEST(Packing, SearchIsNeverWorseThanGreedyAndDeterministic) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const PackingProblem problem = randomProblem(seed, 80, 64);
    const PackingSolution greedy = solvePacking(problem, {.searchSteps = 0});
    const PackingSolution searched = solvePacking(problem, {.searchSteps = 400'000});
    EXPECT_LE(searched.height, greedy.height);
    EXPECT_TRUE(checkPacking(problem, searched).isOk());
    EXPECT_EQ(searched.offsets, solvePacking(problem, {.searchSteps = 400'000}).offsets);
  }
}

TEST(Packing, SearchImprovesGreedy) {
  int better = 0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    const PackingProblem problem = randomProblem(seed, 80, 64);
    better +=
        solvePacking(problem, {.searchSteps = 2'000'000}).height < solvePacking(problem, {.searchSteps = 0}).height;
  }
  EXPECT_GE(better, 3);
}

TEST(Packing, StepsOfTrainingAreWithinTwoPercent) {
  for (int layers : {1, 4, 12, 48}) {
    const PackingProblem problem = stepLike(layers);
    const PackingSolution solution = solvePacking(problem);
    ASSERT_TRUE(checkPacking(problem, solution).isOk());
    EXPECT_LE(double(solution.height), 1.02 * double(largestLiveSum(problem, 1))) << layers << " layers";
  }
}

TEST(Packing, LargestLiveSumCountsInstantsHalfOpen) {
  PackingProblem problem;
  problem.buffers = {{"a", 10, 0, 2}, {"b", 20, 2, 4}, {"c", 5, 1, 3}, {"never", 1000, 3, 3}};
  EXPECT_EQ(largestLiveSum(problem, 1), 25u);
  EXPECT_EQ(largestLiveSum(problem, 16), 32u + 16u);
}

TEST(PackingChecker, RefusesInvalidSolutions) {
  PackingProblem problem;
  problem.alignment = 16;
  problem.buffers = {{"a", 32, 0, 4}, {"b", 16, 2, 6}, {"c", 16, 4, 8}};
  const PackingSolution good{{0, 32, 0}, 48};
  EXPECT_TRUE(checkPacking(problem, good).isOk());
  const auto message = [&](PackingSolution bad) { return checkPacking(problem, bad).message(); };
  EXPECT_EQ(message({{0, 32}, 48}), "offsets of a packing, expected 3 but got 2");
  EXPECT_EQ(message({{0, 40, 0}, 56}), "offset of buffer 'b', expected a multiple of 16 but got 40");
  EXPECT_EQ(message({{0, 32, 0}, 40}), "end of buffer 'b', expected at most 40 but got 32 + 16");
  EXPECT_EQ(message({{0, 16, 0}, 48}),
            "buffers 'a' and 'b', expected no byte in common at instant 2 but got bytes [16, 32)");
  EXPECT_EQ(message({{0, 32, 32}, 48}),
            "buffers 'b' and 'c', expected no byte in common at instant 4 but got bytes [32, 48)");
}

TEST(PackingChecker, FindsOverlapsBelowAndAbove) {
  PackingProblem problem;
  problem.buffers = {{"low", 100, 0, 10}, {"high", 10, 0, 10}, {"new", 10, 5, 6}};
  EXPECT_FALSE(checkPacking(problem, {{0, 100, 99}, 200}).isOk());
  EXPECT_FALSE(checkPacking(problem, {{0, 100, 109}, 200}).isOk());
  EXPECT_TRUE(checkPacking(problem, {{0, 100, 110}, 200}).isOk());
}

} // namespace
