//===- IndexingTest.cpp - indices of views and shards, against their enumeration ----------===//
#include "runtime/plan/check/proof/Indexing.h"

#include <gtest/gtest.h>

#include <random>

namespace sluice::check::proof {
namespace {

/// The indices of all elements, in row-major order.
std::vector<std::int64_t> indicesOf(const Indexing &at) {
  std::vector<std::int64_t> indices{at.base};
  for (const Digits &dim : at.dims)
    for (const Digit &digit : dim) {
      std::vector<std::int64_t> next;
      for (std::int64_t index : indices)
        for (std::int64_t k = 0; k < digit.extent; ++k)
          next.push_back(index + k * digit.step);
      indices = std::move(next);
    }
  return indices;
}

TEST(Indexing, ReshapeKeepsTheOrderOfElements) {
  const Indexing turned = *transposed(denseIndexing(Shape{4, 6, 5}), Shape{2, 0, 1});
  const std::optional<Indexing> flat = reshaped(turned, Shape{5, 24}), split = reshaped(turned, Shape{5, 2, 2, 3, 2});
  ASSERT_TRUE(flat && split);
  EXPECT_EQ(indicesOf(*flat), indicesOf(turned));
  EXPECT_EQ(indicesOf(*split), indicesOf(turned));
  EXPECT_FALSE(reshaped(turned, Shape{10, 12}) && indicesOf(*reshaped(turned, Shape{10, 12})) != indicesOf(turned));
  EXPECT_FALSE(reshaped(turned, Shape{7, 24}));
}

TEST(Indexing, TransposeBroadcastAndSlice) {
  EXPECT_EQ(indicesOf(*transposed(denseIndexing(Shape{2, 3}), Shape{1, 0})), (Shape{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(indicesOf(*broadcasted(denseIndexing(Shape{3, 1}), Shape{2, 3, 2})),
            (Shape{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(indicesOf(*sliced(denseIndexing(Shape{2, 6}), 1, 1, 3, 2)), (Shape{1, 3, 5, 7, 9, 11}));
  EXPECT_FALSE(transposed(denseIndexing(Shape{2, 3}), Shape{0, 0}));
  EXPECT_FALSE(broadcasted(denseIndexing(Shape{3}), Shape{4}));
  EXPECT_FALSE(sliced(denseIndexing(Shape{6}), 0, 4, 3, 1));
}

/// The elements that the ranks along two axes have, by the sharding that shardIndexing() makes.
TEST(Indexing, ShardsOfAllRanksAreTheTensor) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::vector<std::uint32_t> sizes{std::uint32_t(1 + random() % 3), std::uint32_t(2 + random() % 2)};
    const std::int64_t ranks = sizes[0] * sizes[1], segments = 1 + std::int64_t(random() % 3),
                       chunk = 1 + std::int64_t(random() % 4);
    Shape shape{std::int64_t(1 + random() % 3), segments * chunk * ranks, std::int64_t(1 + random() % 3)};
    std::vector<DimSharding> dims(3);
    for (std::size_t d = 0; d < 3; ++d)
      dims[d].local = shape[d];
    dims[1] = {{0, 1}, segments, segments * chunk, false};
    std::vector<AxisStep> steps;
    const Indexing local = shardIndexing(shape, dims, sizes, steps);
    std::erase_if(steps, [&](const AxisStep &step) { return sizes[step.axis] == 1; });
    std::vector<int> count(std::size_t(elementsOf(shape)));
    for (std::uint32_t a = 0; a < sizes[0]; ++a)
      for (std::uint32_t b = 0; b < sizes[1]; ++b)
        for (std::int64_t index : indicesOf(local)) {
          for (const AxisStep &step : steps)
            index += step.step * std::int64_t(step.axis == 0 ? a : b);
          ++count[std::size_t(index)];
        }
    EXPECT_EQ(count, std::vector<int>(count.size(), 1));
    EXPECT_TRUE(coversOnce(local, steps, elementsOf(shape), sizes));
    const auto found = shardingBetween(local, steps, denseIndexing(shape), sizes);
    ASSERT_TRUE(found) << round;
    EXPECT_EQ((*found)[1].local, segments * chunk);
    // A rank that has the chunk of another one has no shard.
    steps.front().step += 1;
    EXPECT_FALSE(shardingBetween(local, steps, denseIndexing(shape), sizes));
    EXPECT_FALSE(coversOnce(local, steps, elementsOf(shape), sizes));
  }
}

TEST(Indexing, AMissingAxisIsNoSharding) {
  const std::vector<std::uint32_t> sizes{4};
  Indexing local = denseIndexing(Shape{2, 3});
  EXPECT_TRUE(shardingBetween(local, std::vector<AxisStep>{{0, 6}}, denseIndexing(Shape{8, 3}), sizes));
  EXPECT_FALSE(shardingBetween(local, {}, denseIndexing(Shape{8, 3}), sizes));
  EXPECT_FALSE(shardingBetween(local, std::vector<AxisStep>{{0, 6}}, denseIndexing(Shape{2, 3}), sizes));
  local.base = 6;
  EXPECT_FALSE(shardingBetween(local, std::vector<AxisStep>{{0, 6}}, denseIndexing(Shape{8, 3}), sizes));
}

} // namespace
} // namespace sluice::check::proof
