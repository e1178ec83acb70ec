//===- ShardingTest.cpp - shards of ranks, against their enumeration -----------------------===//
#include "runtime/plan/check/proof/Parts.h"
#include "test/unit/plan/proof/ShardElements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sluice::check::proof {
namespace {

/// True if the ranks together have each element once.
bool haveAllOnce(const Shard &shard, std::int64_t elements, const std::vector<std::uint32_t> &sizes) {
  std::vector<int> count(std::size_t(elements), 0);
  for (const auto &rank : ranksOf(sizes))
    for (std::int64_t index : enumerate(shard, rank, elements))
      if (index != padding)
        ++count[std::size_t(index)];
  return count == std::vector<int>(count.size(), 1);
}

/// Random shards, with one or more segments, even or padded: the ranks together have each element once, and the
/// sharding is found again.
TEST(Sharding, ShardsOfAllRanksAreTheTensor) {
  std::mt19937 random(7);
  int padded = 0, refused = 0;
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
    EXPECT_TRUE(haveAllOnce(*shard, elements, sizes)) << round;
    EXPECT_TRUE(coversOnce(*shard, elements, sizes)) << round;
    EXPECT_EQ(!paddedEnds(*shard, elements, sizes).empty(), dims[1].isPadded(sizes)) << round;
    const auto found = shardingBetween(*shard, denseIndexing(shape), elements, sizes);
    ASSERT_TRUE(found) << round << ": " << shape[0] << " x " << segments << " x " << extent << " x " << shape[2]
                       << " over " << sizes[0] << " x " << sizes[1];
    EXPECT_TRUE((*found)[1].isSame(dims[1])) << round;
    Shard simple = *shard;
    simplify(simple, sizes);
    EXPECT_EQ(simple, *shard) << round;
    // A rank that has the chunk of another one has no shard. If one rank has all elements, another distance is right.
    Shard wrong = *shard;
    wrong.steps.front().step += 1;
    EXPECT_FALSE(shardingBetween(wrong, denseIndexing(shape), elements, sizes)) << round;
    EXPECT_TRUE(!coversOnce(wrong, elements, sizes) || haveAllOnce(wrong, elements, sizes)) << round;
    refused += !coversOnce(wrong, elements, sizes);
    // Padding that is taken for elements.
    if (!shard->bounds.empty()) {
      wrong = *shard;
      wrong.bounds.clear();
      EXPECT_FALSE(shardingBetween(wrong, denseIndexing(shape), elements, sizes)) << round;
      EXPECT_FALSE(coversOnce(wrong, elements, sizes)) << round;
    }
  }
  EXPECT_GT(padded, 100);
  EXPECT_GT(refused, 400);
}

DimSharding divided(std::uint32_t axis, std::int64_t extent, std::int64_t chunk) {
  return {{axis}, 1, chunk, false, extent};
}

/// Ranks along axis 0 have parts of a dim, and those along axis 1 chunks of a dim of their part, either with padding.
/// The elements of the root are those of the part's elements.
TEST(Parts, ChunksOfPartsAreThoseOfTheRoot) {
  std::mt19937 random(3);
  int found = 0, nested = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::vector<std::uint32_t> sizes{std::uint32_t(2 + random() % 2), std::uint32_t(2 + random() % 3)};
    const std::vector<std::int64_t> shape{std::int64_t(1 + random() % 4), std::int64_t(1 + random() % 9),
                                          std::int64_t(1 + random() % 4)};
    const std::int64_t elements = elementsOf(shape);
    const auto dimsOf = [&](std::span<const std::int64_t> extents, std::size_t d, std::uint32_t axis) {
      std::vector<DimSharding> dims;
      for (std::int64_t extent : extents)
        dims.push_back({{}, 1, extent});
      dims[d] = divided(axis, extents[d], (extents[d] + sizes[axis] - 1) / sizes[axis]);
      return dims;
    };
    const std::size_t partDim = random() % 3, chunkDim = random() % 3;
    const std::optional<Shard> part = shardOf(shape, dimsOf(shape, partDim, 0), sizes);
    ASSERT_TRUE(part);
    const Shape local = shapeOf(part->at);
    const std::optional<Shard> chunk = shardOf(local, dimsOf(local, chunkDim, 1), sizes);
    ASSERT_TRUE(chunk);
    Parts parts;
    std::optional<Shard> shard = parts.inRoot(parts.of(*part), *chunk, elements, sizes);
    if (!shard)
      continue;
    ++found;
    nested += partDim == chunkDim && !chunk->bounds.empty() && !part->bounds.empty();
    simplify(*shard, sizes);
    const std::string what = testing::PrintToString(shape) + " over " + testing::PrintToString(sizes) + ", dims " +
                             std::to_string(partDim) + " and " + std::to_string(chunkDim);
    for (const auto &rank : ranksOf(sizes)) {
      const std::vector<std::int64_t> inPart = enumerate(*part, rank, elements);
      std::vector<std::int64_t> expected = enumerate(*chunk, rank, std::int64_t(inPart.size()));
      for (std::int64_t &index : expected)
        index = index == padding ? padding : inPart[std::size_t(index)];
      EXPECT_EQ(enumerate(*shard, rank, elements), expected) << what << ", rank " << rank[0] << ", " << rank[1];
    }
    EXPECT_TRUE(haveAllOnce(*shard, elements, sizes)) << what;
    EXPECT_TRUE(coversOnce(*shard, elements, sizes)) << what;
  }
  EXPECT_GT(found, 1500);
  EXPECT_GT(nested, 100);
}

TEST(Sharding, ChunksOfTwoDimsAreFound) {
  const auto found = [](const Shape &shape, const std::vector<DimSharding> &dims,
                        const std::vector<std::uint32_t> &sizes, bool isTransposed = false) {
    const std::optional<Shard> shard = shardOf(shape, dims, sizes);
    ASSERT_TRUE(shard);
    Shard local = *shard;
    Indexing global = denseIndexing(shape);
    std::vector<DimSharding> expected = dims;
    if (isTransposed) {
      std::ranges::reverse(local.at.dims);
      std::ranges::reverse(global.dims);
      std::ranges::reverse(expected);
    }
    const auto own = shardingBetween(local, global, elementsOf(shape), sizes);
    ASSERT_TRUE(own) << testing::PrintToString(shape);
    for (std::size_t d = 0; d < expected.size(); ++d)
      EXPECT_TRUE((*own)[d].isSame(expected[d])) << testing::PrintToString(shape) << ", dim " << d;
  };
  for (const bool isTransposed : {false, true}) {
    // Ranks without a column: the distance of the chunks of rows is that of the next chunk of columns.
    found({4, 2}, {divided(0, 4, 2), divided(1, 2, 1)}, {2, 4}, isTransposed);
    // The chunks of columns are in the rows, of which the last chunk has padding.
    found({2, 3, 4}, {{{}, 1, 2}, divided(0, 3, 2), divided(1, 4, 2)}, {2, 2}, isTransposed);
    // The first rank has all columns, the others padding: their distance is that of the rows.
    found({2, 3, 2}, {{{}, 1, 2}, divided(0, 3, 1), divided(1, 2, 2)}, {4, 2}, isTransposed);
    // The first rank has all rows.
    found({2, 3, 4}, {{{}, 1, 2}, divided(0, 3, 3), {{}, 1, 4}}, {2, 1}, isTransposed);
  }
}

TEST(Sharding, OtherDigitsAreNoChunks) {
  const std::vector<std::uint32_t> sizes{2, 4};
  const auto isShard = [&](const Shard &local, const Indexing &global, std::int64_t elements) {
    return shardingBetween(local, global, elements, sizes).has_value();
  };
  EXPECT_TRUE(isShard({{0, {{}}}, {{1, 1}}, {}}, denseIndexing(Shape{4}), 4));
  EXPECT_FALSE(isShard({{0, {{{2, 9}, {2, 3}, {2, 1}}}}, {{1, 1}}, {}}, denseIndexing(Shape{4}), 4)) << "three digits";
  EXPECT_FALSE(isShard({{0, {{{3, 1}}}}, {{0, 0}}, {}}, {0, {{{2, 0}, {3, 1}}}}, 3)) << "a repeated dim has no chunks";
  EXPECT_FALSE(isShard({{0, {{{2, 5}, {3, 1}}}}, {}, {}}, {0, {{{2, 0}, {3, 1}}}}, 13)) << "nor segments";
  EXPECT_FALSE(isShard({denseIndexing(Shape{6}), {}, {}}, denseIndexing(Shape{2, 3}), 6)) << "a dim is missing";
  EXPECT_FALSE(isShard({denseIndexing(Shape{2, 3}), {}, {}}, denseIndexing(Shape{6}), 6)) << "a dim too many";
  EXPECT_FALSE(isShard({denseIndexing(Shape{6, 1}), {}, {}}, denseIndexing(Shape{6}), 6)) << "a dim of one element";
  EXPECT_FALSE(isShard({{0, {{{6, 1}}, {{2, 6}}}}, {{0, 12}}, {{3, 0}}}, {0, {{{6, 1}}, {{4, 6}}}}, 24))
      << "the last three columns are padding on all ranks";
  EXPECT_TRUE(isShard({{0, {{{2, 3}, {3, 1}}}}, {{0, 3}}, {{3, 1}}}, denseIndexing(Shape{6}), 6));
  EXPECT_FALSE(isShard({denseIndexing(Shape{6}), {{0, 3}}, {{3, 1}}}, denseIndexing(Shape{6}), 6))
      << "the last three elements are padding";
  EXPECT_TRUE(isShard({{0, {{{2, 4}}, {{2, 1}}}}, {{0, 2}}, {{4, 1}}}, denseIndexing(Shape{2, 4}), 8))
      << "the bound excludes no element";
  // Two segments of three columns, all on the first rank, and two of four rows.
  const Indexing local{0, {{{2, 6}}, {{2, 3}, {3, 1}}}};
  EXPECT_TRUE(isShard({local, {{0, 3}, {1, 12}}, {{3, 1}}}, denseIndexing(Shape{8, 6}), 48));
  EXPECT_FALSE(isShard({local, {{0, 3}, {1, 12}}, {{3, 3}}}, denseIndexing(Shape{8, 6}), 48))
      << "the ranks along the rows have padding";
}

TEST(Sharding, ShardsOfAllRanksAreAPart) {
  // Elements 12 to 23, in three chunks of 5 of which the last has padding.
  const std::vector<std::uint32_t> sizes{3};
  const Shard shard{{12, {{{5, 1}}}}, {{0, 5}}, {{12, 1}}};
  EXPECT_EQ(elementsOfAll(shard, 24, sizes), (Indexing{12, {{{12, 1}}}}));
  EXPECT_EQ(paddedEnds(shard, 24, sizes), (std::vector<std::int64_t>{12}));
  // Without the bound, indices past the end of the root are no part.
  EXPECT_FALSE(elementsOfAll({shard.at, shard.steps, {}}, 24, sizes));
  // Two ranks have one element.
  EXPECT_FALSE(elementsOfAll({shard.at, {{0, 4}}, {}}, 30, sizes));
  // Two of every four elements, of which the third chunk is past the end.
  EXPECT_EQ(elementsOfAll({{0, {{{2, 1}}}}, {{0, 4}}, {{8, 1}}}, 24, sizes), (Indexing{0, {{{2, 4}, {2, 1}}}}));
  EXPECT_FALSE(elementsOfAll({{0, {{{2, 1}}}}, {{0, 4}}, {{10, 1}}}, 24, std::vector<std::uint32_t>{4}))
      << "half of the last two are padding";
  // Every second element.
  EXPECT_EQ(elementsOfAll({{1, {{{4, 2}}}}, {{0, 8}}, {}}, 24, sizes), (Indexing{1, {{{12, 2}}}}));
  EXPECT_EQ(elementsOfAll({{0, {{{5, 0}}, {{7, 0}}}}, {{0, 0}}, {}}, 1, sizes), (Indexing{0, {{{105, 0}}}}));
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

/// Two rows of two heads of 12 elements, of which three ranks have a head each: that of the third one is padding. A
/// value has some elements of each head from the fifth one on.
TEST(Sharding, AShardMayBeginWithinAStep) {
  const std::vector<std::uint32_t> sizes{3};
  const auto isShard = [&](std::int64_t columns, std::vector<Bound> bounds) {
    const Shard local{{4, {{{2, 24}}, {}, {{columns, 1}}}}, {{0, 12}}, std::move(bounds)};
    return shardingBetween(local, {4, {{{2, 24}}, {{2, 12}}, {{columns, 1}}}}, 48, sizes).has_value();
  };
  EXPECT_TRUE(isShard(4, {{24, 1}}));
  EXPECT_TRUE(isShard(8, {{24, 1}}));
  // The last element is in the next head.
  EXPECT_FALSE(isShard(9, {{24, 1}}));
}

} // namespace
} // namespace sluice::check::proof
