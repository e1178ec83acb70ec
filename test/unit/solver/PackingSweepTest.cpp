//===- PackingSweepTest.cpp - placement from the last instant to the first --------------===//
#include "passes/solver/PackingSweep.h"

#include <gtest/gtest.h>

#include <algorithm>

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
      if (buffers[i].begin < buffers[j].end && buffers[j].begin < buffers[i].end)
        EXPECT_TRUE(offsets[i] + buffers[i].bytes <= offsets[j] || offsets[j] + buffers[j].bytes <= offsets[i])
            << i << " and " << j;
    }
  }
}

/// The backward of equal blocks: parameters gathered one block ahead, gradients twice as large, which live until the
/// next block has its own, and a capacity that is lower for the blocks at the first instants.
std::vector<SweepBuffer> backwardOf(int blocks, std::uint64_t slack) {
  std::vector<SweepBuffer> buffers;
  const auto add = [&](std::uint64_t bytes, int begin, int end) {
    buffers.push_back({bytes, std::uint32_t(std::max(0, begin)), std::uint32_t(end), 0, {}});
  };
  for (int block = 0; block < blocks; ++block) {
    const int at = 20 + 20 * block;
    for (int matrix = 0; matrix < 3; ++matrix) {
      add(104, at - 30, at + 2 * matrix);
      add(208, at + 2 * matrix, at + 28);
    }
    add(68, at - 30, at + 8);
    add(136, at + 8, at + 28);
    add(52, at + 9, at + 12);
  }
  std::uint64_t live = 0;
  for (const SweepBuffer &buffer : buffers) {
    std::uint64_t sum = 0;
    for (const SweepBuffer &other : buffers)
      if (other.begin <= buffer.begin && buffer.begin < other.end)
        sum += other.bytes;
    live = std::max(live, sum);
  }
  for (SweepBuffer &buffer : buffers)
    buffer.ceiling = live + slack + 16 * (buffer.begin / 20);
  return buffers;
}

TEST(PackingSweep, PlacesTheBackwardOfEqualBlocks) {
  const std::vector<SweepBuffer> buffers = backwardOf(20, 8);
  const auto offsets = sweepPacking(buffers, manySteps);
  ASSERT_TRUE(offsets);
  expectValid(buffers, *offsets);
  EXPECT_EQ(sweepPacking(buffers, manySteps), offsets);
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

TEST(PackingSweep, EndsWithoutAPlacement) {
  EXPECT_FALSE(sweepPacking({{60, 0, 2, 100, {}}, {60, 1, 3, 100, {}}}, manySteps));
  EXPECT_FALSE(sweepPacking({{60, 0, 2, 59, {}}}, manySteps));
  EXPECT_FALSE(sweepPacking(backwardOf(20, 8), 100));
}

TEST(PackingSweep, WithoutBuffers) {
  const auto offsets = sweepPacking({}, manySteps);
  ASSERT_TRUE(offsets);
  EXPECT_TRUE(offsets->empty());
}

} // namespace
} // namespace sluice
