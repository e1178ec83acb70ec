//===- PackingByPressureTest.cpp - placement of training steps, the fullest instants first ------===//
#include "passes/solver/PackingByPressure.h"
#include "passes/solver/PackingChecker.h"
#include "passes/solver/PackingIntervals.h"
#include "passes/solver/PackingSolver.h"

#include <gtest/gtest.h>

#include <random>

using namespace sluice;

namespace {

std::optional<PackingSolution> pack(const PackingProblem &problem, std::uint64_t capacity,
                                    std::uint64_t steps = 5'000'000) {
  return packByPressure(problem, capacity, steps);
}

/// Saved activations of `blocks` blocks, temporaries in each block, and gradients that live into the next block of the
/// backward: the buffers of a training step. Sizes within a block are random, and equal in all blocks.
PackingProblem trainingStep(std::uint32_t blocks, unsigned seed) {
  constexpr std::uint32_t period = 20;
  std::mt19937 numbers(seed);
  struct Local {
    std::uint64_t bytes;
    std::uint32_t begin, end;
  };
  std::vector<Local> locals;
  for (int k = 0; k < 12; ++k) {
    const std::uint32_t begin = numbers() % period;
    const std::uint32_t lifespan = k % 4 == 0 ? period + numbers() % period : 1 + numbers() % 6;
    locals.push_back({1000 * (1 + numbers() % 40), begin, begin + lifespan});
  }
  PackingProblem problem;
  problem.alignment = 256;
  const auto add = [&](std::uint64_t bytes, std::uint32_t begin, std::uint32_t end) {
    problem.buffers.push_back({std::to_string(problem.buffers.size()), bytes, begin, end});
  };
  const std::uint32_t middle = blocks * period, last = 2 * middle + 2 * period;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const std::uint32_t backward = middle + (blocks - 1 - block) * period;
    add(12000, block * period, backward + period / 2);
    add(500, backward + period / 2, last);
    for (const Local &local : locals)
      add(local.bytes, backward + local.begin, backward + local.end);
  }
  return problem;
}

TEST(PackingByPressure, PlacesTrainingStepsCloseToTheirLiveBytes) {
  unsigned found = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const PackingProblem problem = trainingStep(/*blocks=*/24, seed);
    const std::uint64_t least = largestLiveSum(problem, problem.alignment), capacity = least + least / 10;
    const std::optional<PackingSolution> solution = pack(problem, capacity);
    if (!solution)
      continue;
    ++found;
    EXPECT_TRUE(checkPacking(problem, *solution).isOk()) << "seed " << seed;
    EXPECT_LE(solution->height, capacity) << "seed " << seed;
    const std::optional<PackingSolution> again = pack(problem, capacity);
    ASSERT_TRUE(again) << "seed " << seed;
    EXPECT_EQ(again->offsets, solution->offsets) << "seed " << seed;
  }
  EXPECT_GE(found, 17u);
}

/// Reserved buffers have two intervals; those of empty lifespans and of no bytes have none.
TEST(PackingByPressure, PlacesReservedAndEmptyBuffers) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 numbers(seed);
    PackingProblem problem;
    problem.alignment = seed % 2 == 0 ? 1 : 64;
    for (int b = 0; b < 40; ++b) {
      const std::uint32_t begin = numbers() % 30;
      PackingBuffer buffer = {std::to_string(b), numbers() % 900, begin, begin + std::uint32_t(numbers() % 12)};
      if (numbers() % 5 == 0)
        buffer.reservedFrom = 30 + numbers() % 10;
      problem.buffers.push_back(buffer);
    }
    const std::uint64_t capacity = solvePacking(problem).height * 2;
    const std::optional<PackingSolution> solution = pack(problem, capacity);
    ASSERT_TRUE(solution) << "seed " << seed;
    EXPECT_TRUE(checkPacking(problem, *solution).isOk()) << "seed " << seed;
    EXPECT_LE(solution->height, capacity) << "seed " << seed;
  }
}

TEST(PackingByPressure, PlacesBySweep) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    PackingProblem problem = trainingStep(/*blocks=*/24, seed);
    // Live at the first instants and at the last ones.
    problem.buffers.push_back({"reserved", 700, 3, 9, problem.buffers.back().end + 20});
    problem.buffers.push_back({"empty", 0, 3, 9});
    const std::uint64_t least = largestLiveSum(problem, problem.alignment), capacity = least + least / 10;
    const std::optional<PackingSolution> solution = packBySweep(problem, capacity, 20'000'000);
    ASSERT_TRUE(solution) << "seed " << seed;
    EXPECT_TRUE(checkPacking(problem, *solution).isOk()) << "seed " << seed;
    EXPECT_LE(solution->height, capacity) << "seed " << seed;
    EXPECT_FALSE(packBySweep(problem, largestLiveSum(problem, 1) - 1, 20'000'000)) << "seed " << seed;
  }
}

TEST(PackingByPressure, FindsNothingBelowTheLiveBytes) {
  const PackingProblem problem = trainingStep(/*blocks=*/8, /*seed=*/1);
  EXPECT_FALSE(pack(problem, largestLiveSum(problem, 1) - 1));
  EXPECT_FALSE(pack(problem, 0));
}

TEST(PackingByPressure, LowersASolution) {
  const PackingProblem problem = trainingStep(/*blocks=*/24, /*seed=*/0);
  const std::uint64_t least = largestLiveSum(problem, problem.alignment);
  const PackingSolution greedy = placeInOrder(problem, PackingOrder::begin, PackingFit::first);
  const PackingSolution lower = lowerByPressure(problem, greedy, least, 5'000'000);
  EXPECT_GT(greedy.height, least + least / 50);
  EXPECT_LE(lower.height, least + least / 50);
  EXPECT_TRUE(checkPacking(problem, lower).isOk());
  // Without steps, and below the live bytes, it is the same.
  EXPECT_EQ(lowerByPressure(problem, greedy, least, 0).offsets, greedy.offsets);
  EXPECT_EQ(lowerByPressure(problem, greedy, least / 2, 5'000'000).offsets, greedy.offsets);
}

TEST(PackingByPressure, EndsAfterItsSteps) {
  const PackingProblem problem = trainingStep(/*blocks=*/24, /*seed=*/1);
  const std::uint64_t least = largestLiveSum(problem, problem.alignment);
  EXPECT_FALSE(pack(problem, least + least / 100, /*steps=*/10));
}

TEST(PackingByPressure, PlacesNoBuffersAtNoHeight) {
  const std::optional<PackingSolution> solution = pack(PackingProblem{.alignment = 256, .buffers = {}}, 0);
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->height, 0u);
}

} // namespace
