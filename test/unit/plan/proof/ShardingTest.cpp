//===- ShardingTest.cpp - shards of ranks, against their enumeration -----------------------===//
#include "runtime/plan/check/proof/Sharding.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace sluice::check::proof {
namespace {

/// An element of a shard on one rank: its index in the root, and the sum that each bound limits.
struct Element {
  std::int64_t index = 0;
  std::vector<std::int64_t> coordinates;
};

/// The elements of a rank that are no padding of a root of `elements` elements, with their position in the shard.
std::map<std::int64_t, std::int64_t> elementsOf(const Shard &shard, const std::vector<std::int64_t> &coordinates,
                                                std::int64_t elements) {
  std::vector<Element> all{{shard.at.base, std::vector<std::int64_t>(shard.bounds.size())}};
  const auto expand = [&](std::int64_t count, std::int64_t first, std::int64_t step, const auto &item) {
    std::vector<Element> next;
    for (const Element &element : all)
      for (std::int64_t k = first; k < first + count; ++k) {
        next.push_back(element);
        next.back().index += k * step;
        for (std::size_t b = 0; b < shard.bounds.size(); ++b)
          if (shard.bounds[b].has(item))
            next.back().coordinates[b] += k * step;
      }
    all = std::move(next);
  };
  for (const Digits &dim : shard.at.dims)
    for (const Digit &digit : dim)
      expand(digit.extent, 0, digit.step, digit);
  for (const AxisStep &step : shard.steps)
    expand(1, coordinates[step.axis], step.step, step);
  std::map<std::int64_t, std::int64_t> result;
  for (std::size_t k = 0; k < all.size(); ++k) {
    bool isPadding = all[k].index >= elements;
    for (std::size_t b = 0; b < shard.bounds.size(); ++b)
      isPadding = isPadding || all[k].coordinates[b] >= shard.bounds[b].end;
    if (!isPadding)
      result.emplace(all[k].index, std::int64_t(k));
  }
  return result;
}

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
    const std::int64_t elements = sluice::check::proof::elementsOf(shape);
    std::vector<int> count(std::size_t(elements), 0);
    for (std::uint32_t a = 0; a < sizes[0]; ++a)
      for (std::uint32_t b = 0; b < sizes[1]; ++b)
        for (const auto &[index, position] : elementsOf(*shard, {a, b}, elements))
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
