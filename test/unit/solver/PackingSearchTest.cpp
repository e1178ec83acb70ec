//===- PackingSearchTest.cpp - exact placement against every order --------------------------===//
#include "passes/solver/PackingSearch.h"
#include "passes/solver/PackingChecker.h"
#include "passes/solver/PackingIntervals.h"
#include "passes/solver/PackingSolver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace sluice;

namespace {

/// The lowest height of all orders, each buffer at the lowest offset above the earlier ones that it overlaps. Some
/// order of an optimal packing, by ascending offsets, gives its height.
std::uint64_t lowestHeight(const PackingProblem &problem) {
  const std::size_t count = problem.buffers.size();
  std::vector<std::vector<bool>> live(count, std::vector<bool>(count, false));
  const std::vector<PackingInterval> intervals = intervalsOf(problem);
  for (const PackingInterval &x : intervals)
    for (const PackingInterval &y : intervals)
      if (x.begin < y.end && y.begin < x.end)
        live[x.buffer][y.buffer] = true;
  std::vector<std::uint32_t> order(problem.buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::uint64_t lowest = ~std::uint64_t(0);
  do {
    std::vector<std::uint64_t> offsets(order.size(), 0);
    std::uint64_t height = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::uint32_t buffer = order[k];
      for (std::size_t j = 0; j < k; ++j)
        if (live[buffer][order[j]])
          offsets[buffer] = std::max(offsets[buffer],
                                     alignUp(offsets[order[j]] + problem.buffers[order[j]].bytes, problem.alignment));
      height = std::max(height, offsets[buffer] + problem.buffers[buffer].bytes);
    }
    lowest = std::min(lowest, height);
  } while (std::ranges::next_permutation(order).found);
  return lowest;
}

struct Shape {
  const char *name;
  std::uint64_t alignment;
  std::uint32_t mostBytes;
  bool areReserved;
};
void PrintTo(const Shape &shape, std::ostream *out) { *out << shape.name; }

class Exact : public testing::TestWithParam<Shape> {};

TEST_P(Exact, FindsTheLowestHeightAndProvesIt) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 numbers(seed);
    PackingProblem problem;
    problem.alignment = GetParam().alignment;
    const int count = 1 + int(numbers() % 8);
    for (int b = 0; b < count; ++b) {
      const std::uint32_t begin = numbers() % 8;
      PackingBuffer buffer = {std::to_string(b), 1 + numbers() % GetParam().mostBytes, begin,
                              begin + 1 + std::uint32_t(numbers() % 4)};
      if (GetParam().areReserved && numbers() % 3 == 0)
        buffer.reservedFrom = 6 + numbers() % 6;
      problem.buffers.push_back(buffer);
    }
    const std::uint64_t lowest = lowestHeight(problem);
    const PackingSearchResult found = searchPacking(problem, lowest, 1'000'000);
    ASSERT_EQ(found.outcome, PackingOutcome::found) << "seed " << seed;
    EXPECT_TRUE(checkPacking(problem, found.solution).isOk()) << "seed " << seed;
    EXPECT_EQ(found.solution.height, lowest) << "seed " << seed;
    EXPECT_EQ(searchPacking(problem, lowest - 1, 1'000'000).outcome, PackingOutcome::infeasible) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Packing, Exact,
                         testing::Values(Shape{"Bytes", 1, 9, false}, Shape{"Aligned", 16, 60, false},
                                         Shape{"EqualSizes", 1, 2, false}, Shape{"ReservedEarly", 1, 9, true}),
                         [](const auto &info) { return std::string(info.param.name); });

// Few problems have no placement in the live bytes of an instant; in this one 6 bytes live, and 7 are needed.
TEST(PackingSearch, ProvesThatTheLiveBytesAreNotEnough) {
  PackingProblem problem;
  problem.buffers = {{"a", 1, 3, 6}, {"b", 4, 0, 1}, {"c", 2, 1, 4}, {"d", 1, 4, 6},
                     {"e", 2, 1, 2}, {"f", 2, 0, 5}, {"g", 4, 5, 6}, {"h", 1, 3, 5}};
  EXPECT_EQ(largestLiveSum(problem, 1), 6u);
  EXPECT_EQ(lowestHeight(problem), 7u);
  EXPECT_EQ(searchPacking(problem, 6, 1'000'000).outcome, PackingOutcome::infeasible);
  EXPECT_EQ(searchPacking(problem, 7, 1'000'000).solution.height, 7u);
}

TEST(PackingSearch, DecidesWhatTheGreedySearchDoesNot) {
  // Rectangles that fill the arena exactly.
  PackingProblem problem;
  std::mt19937 numbers(3);
  std::vector<std::array<std::uint32_t, 4>> open = {{0, 64, 0, 4096}};
  while (open.size() + problem.buffers.size() < 90) {
    const auto [begin, end, from, to] = open.back();
    open.pop_back();
    if (numbers() % 2 && end - begin > 1) {
      const std::uint32_t cut = begin + 1 + numbers() % (end - begin - 1);
      open.push_back({begin, cut, from, to});
      open.push_back({cut, end, from, to});
    } else if (to - from > 1) {
      const std::uint32_t cut = from + 1 + numbers() % (to - from - 1);
      open.push_back({begin, end, from, cut});
      open.push_back({begin, end, cut, to});
    } else {
      problem.buffers.push_back({"b", to - from, begin, end});
    }
    std::ranges::shuffle(open, numbers);
  }
  for (const auto &[begin, end, from, to] : open)
    problem.buffers.push_back({"b", to - from, begin, end});
  EXPECT_GT(solvePacking(problem).height, 4096u);
  const PackingSearchResult result = packWithin(problem, 4096);
  ASSERT_EQ(result.outcome, PackingOutcome::found);
  EXPECT_TRUE(checkPacking(problem, result.solution).isOk());
  EXPECT_EQ(result.solution.height, 4096u);
  EXPECT_EQ(packWithin(problem, 4096).solution.offsets, result.solution.offsets);
  EXPECT_EQ(packWithin(problem, 4095).outcome, PackingOutcome::infeasible);
}

/// The buffers after the first `fixed` ones, next to those at their offsets.
PackingSurroundings surroundingsOf(const PackingProblem &problem, const std::vector<std::uint64_t> &offsets,
                                   std::size_t fixed, std::uint64_t height) {
  PackingSurroundings surroundings;
  surroundings.ceilings.assign(64, height);
  for (std::size_t i = fixed; i < problem.buffers.size(); ++i) {
    std::vector<ByteRange> &occupied = surroundings.occupied.emplace_back();
    for (std::size_t j = 0; j < fixed; ++j)
      if (problem.buffers[i].begin < problem.buffers[j].end && problem.buffers[j].begin < problem.buffers[i].end)
        occupied.push_back({offsets[j], offsets[j] + problem.buffers[j].bytes});
  }
  return surroundings;
}

TEST(PackingSearch, CompletesAPackingNextToFixedBuffers) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 numbers(seed);
    PackingProblem problem;
    for (int b = 0; b < 8; ++b) {
      const std::uint32_t begin = numbers() % 8;
      problem.buffers.push_back(
          {std::to_string(b), 1 + numbers() % 9, begin, begin + 1 + std::uint32_t(numbers() % 6)});
    }
    const std::uint64_t lowest = lowestHeight(problem);
    PackingSolution all = searchPacking(problem, lowest, 1'000'000).solution;
    const std::size_t fixed = numbers() % 8;
    PackingProblem rest;
    rest.buffers.assign(problem.buffers.begin() + fixed, problem.buffers.end());
    const PackingSearchResult found =
        searchPacking(rest, surroundingsOf(problem, all.offsets, fixed, lowest), 1'000'000);
    ASSERT_EQ(found.outcome, PackingOutcome::found) << "seed " << seed;
    std::ranges::copy(found.solution.offsets, all.offsets.begin() + fixed);
    all.height = lowest;
    EXPECT_TRUE(checkPacking(problem, all).isOk()) << "seed " << seed << ": " << checkPacking(problem, all).message();
  }
}

TEST(PackingSearch, ProvesThatFixedBuffersLeaveNoRoom) {
  // 2 bytes are free on each side of the fixed buffer, and 3 are needed.
  PackingProblem problem;
  problem.buffers = {{"fixed", 1, 0, 2}, {"large", 3, 1, 3}, {"small", 2, 0, 1}};
  PackingSurroundings surroundings = surroundingsOf(problem, {2, 0, 0}, 1, 5);
  problem.buffers.erase(problem.buffers.begin());
  EXPECT_EQ(searchPacking(problem, surroundings, 1'000).outcome, PackingOutcome::infeasible);
  // A ceiling counts at the instants of a buffer.
  surroundings.ceilings = {4, 6, 6};
  const PackingSearchResult found = searchPacking(problem, surroundings, 1'000);
  ASSERT_EQ(found.outcome, PackingOutcome::found);
  EXPECT_EQ(found.solution.offsets, (std::vector<std::uint64_t>{3, 0}));
  surroundings.ceilings = {1, 6, 6};
  EXPECT_EQ(searchPacking(problem, surroundings, 1'000).outcome, PackingOutcome::infeasible);
}

TEST(PackingSearch, LimitsAreUndecided) {
  PackingProblem problem;
  for (int b = 0; b < 8; ++b)
    problem.buffers.push_back({"b", std::uint64_t(3 + b % 3), std::uint32_t(b), std::uint32_t(b + 4)});
  EXPECT_EQ(searchPacking(problem, largestLiveSum(problem, 1), 0).outcome, PackingOutcome::undecided);
  problem.buffers.resize(maxSearchedBuffers + 1, {"b", 1, 0, 1});
  EXPECT_EQ(searchPacking(problem, 1'000'000, 1000).outcome, PackingOutcome::undecided);
}

} // namespace
