//===- ShardMathTest.cpp - the arithmetic of shards against counting --------------------===//
#include "runtime/base/ShardMath.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace sluice::test {
namespace {

TEST(ShardMath, LastChunksAreShorterOrEmpty) {
  EXPECT_EQ(chunkOf(5, 4), 2);
  EXPECT_EQ(validExtent(5, 2, 0), 2);
  EXPECT_EQ(validExtent(5, 2, 2), 1);
  EXPECT_EQ(validExtent(5, 2, 3), 0);
  EXPECT_EQ(chunkOf(0, 3), 0);
  EXPECT_EQ(validExtent(0, 0, 2), 0);
}

TEST(ShardMath, ChunksOfRandomSizesPartitionTheExtent) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 2000; ++round) {
    const auto total = static_cast<std::int64_t>(random() % 300), ranks = static_cast<std::int64_t>(1 + random() % 40);
    const std::int64_t chunk = chunkOf(total, ranks);
    ASSERT_GE(chunk * ranks, total);
    ASSERT_LT((chunk - 1) * ranks, std::max<std::int64_t>(total, 1));
    std::int64_t next = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      ASSERT_EQ(chunkBegin(total, chunk, rank), next) << total << " over " << ranks;
      next += validExtent(total, chunk, rank);
    }
    ASSERT_EQ(next, total) << ranks;
  }
}

// Tests that products outside 64 bits are clamped, not wrapped.
TEST(ShardMath, LargeExtents) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(chunkOf(most, 2), most / 2 + 1);
  EXPECT_EQ(validExtent(most, most / 2 + 1, 1), most / 2);
  EXPECT_EQ(validExtent(most, most, 1 << 20), 0);
  EXPECT_EQ(chunkBegin(most, most, 1 << 20), most);
}

TEST(ShardMath, RanksAndGroupsOfRandomMeshes) {
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint32_t> sizes(1 + random() % 4), axes;
    std::uint32_t world = 1;
    for (std::uint32_t axis = 0; axis < sizes.size(); ++axis) {
      world *= sizes[axis] = 1 + random() % 4;
      if (random() % 2)
        axes.push_back(axis);
    }
    std::shuffle(axes.begin(), axes.end(), random);
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      const std::vector<std::uint32_t> own = coordinatesOf(sizes, rank);
      ASSERT_EQ(rankAt(sizes, own), rank);
      const std::vector<int> members = groupMembers(sizes, rank, axes);
      ASSERT_EQ(members.at(positionInGroup(sizes, rank, axes)), static_cast<int>(rank));
      // The group is all ranks with the same coordinates along the other axes, each once, at its own position.
      std::size_t count = 0;
      for (std::uint32_t other = 0; other < world; ++other) {
        const std::vector<std::uint32_t> theirs = coordinatesOf(sizes, other);
        bool isMember = true;
        for (std::uint32_t axis = 0; axis < sizes.size(); ++axis)
          isMember = isMember && (theirs[axis] == own[axis] || std::ranges::find(axes, axis) != axes.end());
        if (!isMember)
          continue;
        ++count;
        ASSERT_EQ(members.at(positionInGroup(sizes, other, axes)), static_cast<int>(other));
      }
      ASSERT_EQ(count, members.size());
    }
  }
}

} // namespace
} // namespace sluice::test
