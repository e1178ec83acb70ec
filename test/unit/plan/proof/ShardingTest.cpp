//===- ShardingTest.cpp - shards of ranks, against their enumeration -----------------------===//
#include "test/unit/plan/proof/ShardElements.h"

#include <gtest/gtest.h>

#include <random>

namespace sluice::check::proof {
namespace {

/// Random shards, with one or more segments, even or padded: the ranks together have each element once, and the
/// sharding is found again.
TEST(Sharding, ShardsOfAllRanksAreTheTensor) {
  std::mt19937 random(7);
  int padded = 0;
  for (int round = 0; round < 500; ++round) {
    const std::vector<std::uint32_t> sizes{std::uint32_t(1 + random() % 3), std::uint32_t(2 + random() % 2)};
    const std::int64_t ranks = sizes[0] * sizes[1], segments = 1 + std::int64_t(random() % 3),
                       extent = 2 + std::int64_t(random() % 8), chunk = (extent + ranks - 1) / ranks;
    const std::vector<std::int64_t> shape{std::int64_t(1 + random() % 3), segments * extent,
                                          std::int64_t(1 + random() % 3)};
    std::vector<DimSharding> dims(3);
    for (std::size_t d = 0; d < 3; ++d)
      dims[d].local = shape[d];
    dims[1] = {{0, 1}, segments, segments * chunk, false, extent};
    if (sizes[0] == 1)
      dims[1].axes = {1};
    const std::optional<Shard> shard = shardOf(shape, dims, sizes);
    ASSERT_TRUE(shard);
    padded += dims[1].isPadded(sizes);
    const std::int64_t elements = elementsOf(shape);
    std::vector<int> count(std::size_t(elements), 0);
    for (const auto &rank : ranksOf(sizes))
      for (std::int64_t index : enumerate(*shard, rank, elements))
        if (index != padding)
          ++count[std::size_t(index)];
    EXPECT_EQ(count, std::vector<int>(count.size(), 1)) << round;
    EXPECT_TRUE(coversOnce(*shard, elements, sizes)) << round;
    EXPECT_EQ(hasPadding(*shard, elements, sizes), dims[1].isPadded(sizes)) << round;
    const auto found = shardingBetween(*shard, denseIndexing(shape), elements, sizes);
    ASSERT_TRUE(found) << round << ": " << shape[0] << " x " << segments << " x " << extent << " x " << shape[2]
                       << " over " << sizes[0] << " x " << sizes[1];
    EXPECT_TRUE((*found)[1].isSame(dims[1])) << round;
    Shard simple = *shard;
    simplify(simple, sizes);
    EXPECT_EQ(simple, *shard) << round;
    // A rank that has the chunk of another one has no shard.
    Shard wrong = *shard;
    wrong.steps.front().step += 1;
    EXPECT_FALSE(shardingBetween(wrong, denseIndexing(shape), elements, sizes)) << round;
    EXPECT_FALSE(coversOnce(wrong, elements, sizes)) << round;
    // Padding that is taken for elements.
    if (!shard->bounds.empty()) {
      wrong = *shard;
      wrong.bounds.clear();
      EXPECT_FALSE(shardingBetween(wrong, denseIndexing(shape), elements, sizes)) << round;
      EXPECT_FALSE(coversOnce(wrong, elements, sizes)) << round;
    }
  }
  EXPECT_GT(padded, 100);
}

TEST(Sharding, AMissingAxisIsNoSharding) {
  const std::vector<std::uint32_t> sizes{4};
  Shard local{denseIndexing(Shape{2, 3}), {{0, 6}}, {}};
  EXPECT_TRUE(shardingBetween(local, denseIndexing(Shape{8, 3}), 24, sizes));
  EXPECT_FALSE(shardingBetween({local.at, {}, {}}, denseIndexing(Shape{8, 3}), 24, sizes));
  // The first rank has all elements, the others padding.
  const auto found = shardingBetween(local, denseIndexing(Shape{2, 3}), 6, sizes);
  ASSERT_TRUE(found);
  EXPECT_TRUE((*found)[0].isSharded());
  local.at.base = 6;
  EXPECT_FALSE(shardingBetween(local, denseIndexing(Shape{8, 3}), 24, sizes));
}

} // namespace
} // namespace sluice::check::proof
