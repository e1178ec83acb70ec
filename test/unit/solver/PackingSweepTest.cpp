//===- PackingSweepTest.cpp - placement from the last instant to the first --------------===//
#include "passes/solver/PackingSweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sched.h>

namespace sluice {
namespace {

constexpr std::uint64_t manySteps = 20'000'000;

/// No bytes of two buffers that live at a common instant, none that are occupied, and none above the ceiling.
void expectValid(const std::vector<SweepBuffer> &buffers, const std::vector<std::uint64_t> &offsets) {
  ASSERT_EQ(offsets.size(), buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_LE(offsets[i] + buffers[i].bytes, buffers[i].ceiling) << i;
    for (const ByteRange &range : buffers[i].occupied)
      EXPECT_TRUE(range.end <= offsets[i] || offsets[i] + buffers[i].bytes <= range.begin) << i;
    for (std::size_t j = 0; j < i; ++j) {
      const bool areLiveTogether = buffers[i].begin < buffers[j].end && buffers[j].begin < buffers[i].end;
      EXPECT_TRUE(!areLiveTogether || offsets[i] + buffers[i].bytes <= offsets[j] ||
                  offsets[j] + buffers[j].bytes <= offsets[i])
          << i << " and " << j;
    }
  }
}

/// The backward of equal blocks as of Llama 3.1 405B with sequence 8,192, in units of 16 MiB. The fullest instant is in
/// the first block; each block releases `released` units.
std::vector<SweepBuffer> backwardOf(int blocks, std::uint64_t released, std::uint64_t slack) {
  struct Local {
    std::uint64_t bytes;
    int begin, end;
  };
  constexpr int period = 42, prefetch = 60;
  constexpr Local block[] = {// Gathered parameters, and their gradients until they are reduced in the next block.
                             {104, -prefetch, -5},
                             {104, -prefetch, -2},
                             {104, -prefetch, 0},
                             {32, -prefetch, 3},
                             {2, -prefetch, 7},
                             {2, -prefetch, 9},
                             {32, -prefetch, 11},
                             {208, -5, 57},
                             {208, -2, 57},
                             {208, 0, 57},
                             {64, 3, 57},
                             {4, 7, 57},
                             {4, 9, 57},
                             {64, 11, 57},
                             // Recomputed activations and gradients of activations.
                             {16, -17, 12},
                             {16, -16, 5},
                             {1, -15, 5},
                             {1, -14, 5},
                             {16, -12, 5},
                             {16, -11, 2},
                             {16, -10, 1},
                             {52, -9, -3},
                             {52, -8, -3},
                             {52, -7, -4},
                             {52, -6, 1},
                             {52, -4, -1},
                             {16, -3, 13},
                             {16, 2, 5},
                             {16, 4, 12},
                             {1, 4, 10},
                             {1, 4, 8},
                             {16, 6, 44}};
  std::vector<SweepBuffer> buffers;
  for (int b = 0; b < blocks; ++b)
    for (const Local &local : block)
      buffers.push_back({local.bytes,
                         std::uint32_t(std::max(0, prefetch + b * period + local.begin)),
                         std::uint32_t(prefetch + b * period + local.end),
                         0,
                         {}});
  std::vector<std::uint64_t> room(std::size_t(prefetch + blocks * period + 100), 0);
  for (std::size_t t = 0; t < room.size(); ++t)
    room[t] = 1998 + slack + released * (std::uint64_t(std::max(0, int(t) - prefetch - 13 + period)) / period);
  for (SweepBuffer &buffer : buffers)
    buffer.ceiling = room[buffer.begin];
  return buffers;
}

TEST(PackingSweep, PlacesTheBackwardOfEqualBlocks) {
  const std::vector<SweepBuffer> buffers = backwardOf(/*blocks=*/12, /*released=*/16, /*slack=*/8);
  const auto offsets = sweepPacking(buffers, 2 * manySteps);
  ASSERT_TRUE(offsets);
  expectValid(buffers, *offsets);
}

// On several processors several sweeps run at the same time, and each of them finds a placement.
TEST(PackingSweep, TheNumberOfProcessorsDoesNotChangeThePlacement) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2)
    GTEST_SKIP() << "one processor: no two sweeps run at the same time";
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
  const std::vector<SweepBuffer> buffers = backwardOf(/*blocks=*/4, /*released=*/16, /*slack=*/32);
  const auto offsets = sweepPacking(buffers, manySteps);
  ASSERT_TRUE(offsets);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(sweepPacking(buffers, manySteps), offsets);
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
}

// Without returns to earlier placements, and without the room for large buffers, this sweep finds nothing.
TEST(PackingSweep, ReturnsFromPlacementsWithoutSuccessors) {
  const std::vector<SweepBuffer> buffers = backwardOf(/*blocks=*/12, /*released=*/13, /*slack=*/4);
  const auto offsets = sweepPacking(buffers, 3 * manySteps);
  ASSERT_TRUE(offsets);
  expectValid(buffers, *offsets);
}

TEST(PackingSweep, OccupiedBytesStayFree) {
  // Only [0, 10), [30, 40) and [60, 100) are free. Without the occupied bytes each placement would begin at 0.
  const std::vector<ByteRange> occupied = {{10, 30}, {40, 60}};
  const std::vector<SweepBuffer> buffers = {
      {10, 0, 4, 100, occupied}, {10, 2, 6, 100, occupied}, {40, 3, 6, 100, occupied}, {20, 6, 9, 100, occupied}};
  const auto offsets = sweepPacking(buffers, manySteps);
  ASSERT_TRUE(offsets);
  expectValid(buffers, *offsets);
  EXPECT_EQ((*offsets)[2], 60);
  // No gap of 41 bytes.
  EXPECT_FALSE(sweepPacking({{41, 0, 1, 100, occupied}}, manySteps));
}

TEST(PackingSweep, LargeBuffersOfOneInstantHaveDifferentBytes) {
  // By their ceilings, then by their occupied bytes, each has other free bytes.
  for (const bool isFirstLow : {false, true}) {
    const std::uint64_t ceilings[] = {isFirstLow ? 60u : 120u, isFirstLow ? 120u : 60u};
    const std::vector<SweepBuffer> below = {{60, 0, 2, ceilings[0], {}}, {60, 0, 2, ceilings[1], {}}};
    const auto offsets = sweepPacking(below, manySteps);
    ASSERT_TRUE(offsets);
    expectValid(below, *offsets);
  }
  const std::vector<SweepBuffer> between = {{60, 0, 2, 120, {{60, 120}}}, {60, 0, 2, 120, {{0, 60}}}};
  const auto offsets = sweepPacking(between, manySteps);
  ASSERT_TRUE(offsets);
  expectValid(between, *offsets);
}

TEST(PackingSweep, EndsWithoutAPlacement) {
  EXPECT_FALSE(sweepPacking({{60, 0, 2, 100, {}}, {60, 1, 3, 100, {}}}, manySteps));
  EXPECT_FALSE(sweepPacking({{60, 0, 2, 59, {}}}, manySteps));
  EXPECT_FALSE(sweepPacking(backwardOf(4, 16, 8), 100));
}

TEST(PackingSweep, WithoutBuffers) {
  const auto offsets = sweepPacking({}, manySteps);
  ASSERT_TRUE(offsets);
  EXPECT_TRUE(offsets->empty());
}

} // namespace
} // namespace sluice
