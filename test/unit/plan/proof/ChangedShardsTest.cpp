//===- ChangedShardsTest.cpp - statements about any shards, against their enumeration ------===//
//
// Random shards, of which most are changed in one place, so that they are no shards by chunks. All statements that the
// functions make about them must be true; functions may make none.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/Parts.h"
#include "test/unit/plan/proof/ShardElements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sluice::check::proof {
namespace {

/// A tensor and a shard of it.
struct RandomShard {
  std::vector<std::uint32_t> sizes;
  Shape shape;
  Shard shard;
  std::int64_t elements() const { return elementsOf(shape); }
};

RandomShard randomShard(std::mt19937 &random) {
  const auto upTo = [&](std::int64_t most) { return 1 + std::int64_t(random() % std::uint64_t(most)); };
  RandomShard made;
  made.sizes = {std::uint32_t(upTo(3)), std::uint32_t(1 + upTo(2))};
  std::vector<DimSharding> dims;
  std::vector<std::uint32_t> axes{0, 1};
  for (int d = 0; d < 3; ++d) {
    const std::int64_t segments = upTo(2), extent = upTo(7);
    DimSharding dim{{}, 1, segments * extent};
    // The first dim that is divided has both axes or one of them.
    while (!axes.empty() && random() % 3 == 0) {
      if (made.sizes[axes.back()] > 1)
        dim.axes.insert(dim.axes.begin(), axes.back());
      axes.pop_back();
    }
    if (dim.isSharded()) {
      std::int64_t ranks = 1;
      for (std::uint32_t axis : dim.axes)
        ranks *= made.sizes[axis];
      dim.segments = segments;
      dim.extent = extent;
      dim.local = segments * ((extent + ranks - 1) / ranks);
    }
    made.shape.push_back(segments * extent);
    dims.push_back(dim);
  }
  made.shard = *shardOf(made.shape, dims, made.sizes);
  return made;
}

/// Changes one number of the shard, or removes a part of it.
void change(Shard &shard, std::mt19937 &random) {
  const auto moved = [&](std::int64_t &number, std::int64_t least) {
    switch (random() % 4) {
    case 0:
      ++number;
      break;
    case 1:
      --number;
      break;
    case 2:
      number *= 2;
      break;
    default:
      number /= 2;
    }
    number = std::max(number, least);
  };
  Digits &dim = shard.at.dims[random() % shard.at.dims.size()];
  switch (random() % 11) {
  case 0:
  case 1:
    if (!dim.empty())
      moved(dim[random() % dim.size()].extent, 1);
    break;
  case 2:
    if (!dim.empty())
      moved(dim[random() % dim.size()].step, 0);
    break;
  case 3:
    if (!dim.empty())
      dim.erase(dim.begin() + std::ptrdiff_t(random() % dim.size()));
    break;
  case 4:
    dim.insert(dim.begin() + std::ptrdiff_t(random() % (dim.size() + 1)), {2, std::int64_t(random() % 6)});
    break;
  case 5:
    moved(shard.at.base, 0);
    break;
  case 6:
  case 7:
    if (!shard.steps.empty())
      moved(shard.steps[random() % shard.steps.size()].step, 1);
    break;
  case 8:
    if (!shard.steps.empty())
      shard.steps.erase(shard.steps.begin() + std::ptrdiff_t(random() % shard.steps.size()));
    break;
  case 9:
    if (!shard.bounds.empty())
      shard.bounds.pop_back();
    break;
  default:
    if (!shard.bounds.empty())
      moved(shard.bounds[random() % shard.bounds.size()].end, 1);
  }
  shard.sort();
}

constexpr int rounds = 20000;

TEST(ChangedShards, AreShardsOnlyByTheDimsThatAreFound) {
  std::mt19937 random(11);
  int found = 0;
  for (int round = 0; round < rounds; ++round) {
    RandomShard made = randomShard(random);
    if (round % 8 != 0)
      change(made.shard, random);
    const std::int64_t elements = made.elements();
    const auto dims = shardingBetween(made.shard, denseIndexing(made.shape), elements, made.sizes);
    if (!dims)
      continue;
    ++found;
    const std::optional<Shard> expected = shardOf(made.shape, *dims, made.sizes);
    ASSERT_TRUE(expected) << round << ": " << describe(made.shard) << " of " << elements << " on " << made.sizes[0]
                          << " x " << made.sizes[1];
    for (const auto &rank : ranksOf(made.sizes))
      ASSERT_EQ(enumerate(made.shard, rank, elements), enumerate(*expected, rank, elements))
          << round << ": " << describe(made.shard) << " of " << elements << " on " << made.sizes[0] << " x "
          << made.sizes[1];
  }
  EXPECT_GT(found, rounds / 8);
}

TEST(ChangedShards, CoverEachElementOnceIfTheyAreSaidTo) {
  std::mt19937 random(12);
  int covering = 0;
  for (int round = 0; round < rounds; ++round) {
    RandomShard made = randomShard(random);
    if (round % 8 != 0)
      change(made.shard, random);
    const std::int64_t elements = made.elements();
    if (!coversOnce(made.shard, elements, made.sizes))
      continue;
    ++covering;
    std::vector<int> count(std::size_t(elements), 0);
    // Ranks that differ only along other axes have the same elements.
    for (const auto &rank : ranksOf(made.sizes)) {
      bool isFirst = true;
      for (std::uint32_t axis : {0u, 1u})
        isFirst = isFirst && (rank[axis] == 0 ||
                              std::ranges::find(made.shard.steps, axis, &AxisStep::axis) != made.shard.steps.end());
      if (isFirst)
        for (std::int64_t index : enumerate(made.shard, rank, elements))
          if (index != padding)
            ++count[std::size_t(index)];
    }
    ASSERT_EQ(count, std::vector<int>(count.size(), 1)) << round << ": " << describe(made.shard) << " of " << elements
                                                        << " on " << made.sizes[0] << " x " << made.sizes[1];
  }
  EXPECT_GT(covering, rounds / 8);
}

/// The elements of the ranks that differ along an axis of the shard, without padding.
std::vector<std::int64_t> elementsOfRanks(const Shard &shard, std::int64_t elements,
                                          const std::vector<std::uint32_t> &sizes) {
  std::vector<std::int64_t> all;
  for (const auto &rank : ranksOf(sizes)) {
    bool isFirst = true;
    for (std::uint32_t axis : {0u, 1u})
      isFirst =
          isFirst && (rank[axis] == 0 || std::ranges::find(shard.steps, axis, &AxisStep::axis) != shard.steps.end());
    if (isFirst)
      std::ranges::copy_if(enumerate(shard, rank, elements), std::back_inserter(all),
                           [](std::int64_t index) { return index != padding; });
  }
  std::ranges::sort(all);
  return all;
}

TEST(ChangedShards, HaveTogetherTheElementsThatAreFound) {
  std::mt19937 random(15);
  int parts = 0;
  for (int round = 0; round < rounds; ++round) {
    RandomShard made = randomShard(random);
    // A part of a larger tensor.
    const std::int64_t own = made.elements(), elements = random() % 2 == 0 ? own : own * 3;
    if (elements != own)
      made.shard.at.base = own * std::int64_t(random() % 3);
    if (round % 4 != 0)
      change(made.shard, random);
    const std::optional<Indexing> all = elementsOfAll(made.shard, elements, made.sizes);
    if (!all)
      continue;
    parts += all->base != 0;
    std::vector<std::int64_t> expected = enumerate({*all, {}, {}}, {}, std::int64_t(1) << 40);
    std::ranges::sort(expected);
    ASSERT_EQ(elementsOfRanks(made.shard, elements, made.sizes), expected)
        << round << ": " << describe(made.shard) << " of " << elements << " on " << made.sizes[0] << " x "
        << made.sizes[1];
  }
  EXPECT_GT(parts, rounds / 32);
}

/// Chunks of a part, along the axis that does not divide it.
TEST(ChangedShards, ChunksOfAPartHaveTheElementsOfTheRoot) {
  std::mt19937 random(16);
  int found = 0, bounded = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<std::uint32_t> sizes{2, std::uint32_t(2 + random() % 2)};
    const Shape shape{std::int64_t(1 + random() % 3), std::int64_t(1 + random() % 7), std::int64_t(1 + random() % 4)};
    const auto divided = [&](const Shape &extents, std::uint32_t axis) {
      std::vector<DimSharding> dims;
      for (std::int64_t extent : extents)
        dims.push_back({{}, 1, extent});
      DimSharding &dim = dims[random() % dims.size()];
      dim = {{axis}, 1, (dim.local + sizes[axis] - 1) / sizes[axis], false, dim.local};
      return *shardOf(extents, dims, sizes);
    };
    Shard part = random() % 4 == 0 ? Shard{denseIndexing(shape), {}, {}} : divided(shape, 0);
    if (random() % 4 == 0)
      change(part, random);
    const Shape local = shapeOf(part.at);
    Shard window = divided(local, 1);
    if (round % 4 != 0)
      change(window, random);
    const std::int64_t elements = elementsOf(shape);
    Parts parts;
    const PartId id = parts.of(part);
    std::map<std::int64_t, std::int64_t> ends;
    const std::optional<Shard> inRoot = parts.inRoot(id, window, elements, sizes, &ends);
    if (!inRoot)
      continue;
    ++found;
    bounded += !window.bounds.empty();
    for (const auto &rank : ranksOf(sizes)) {
      const std::vector<std::int64_t> ofPart = enumerate(parts[id].shard, rank, elements);
      std::vector<std::int64_t> expected = enumerate(window, rank, std::int64_t(ofPart.size()));
      for (std::int64_t &index : expected)
        index = index == padding ? padding : ofPart[std::size_t(index)];
      ASSERT_EQ(enumerate(*inRoot, rank, elements), expected)
          << round << ": " << describe(window) << " of " << describe(part) << " is " << describe(*inRoot);
    }
  }
  EXPECT_GT(found, rounds / 8);
  EXPECT_GT(bounded, rounds / 32);
}

TEST(ChangedShards, HavePaddingIfSomeElementIsPadding) {
  std::mt19937 random(13);
  for (int round = 0; round < rounds; ++round) {
    RandomShard made = randomShard(random);
    if (round % 8 != 0)
      change(made.shard, random);
    const std::int64_t elements = made.elements();
    bool isPadded = false;
    for (const auto &rank : ranksOf(made.sizes))
      isPadded = isPadded || std::ranges::count(enumerate(made.shard, rank, elements), padding) > 0;
    const bool found = !paddedEnds(made.shard, elements, made.sizes).empty();
    ASSERT_TRUE(found || !isPadded) << round << ": " << describe(made.shard) << " of " << elements << " on "
                                    << made.sizes[0] << " x " << made.sizes[1];
    ASSERT_TRUE(!found || isPadded || !made.shard.bounds.empty())
        << round << ": " << describe(made.shard) << " of " << elements << " on " << made.sizes[0] << " x "
        << made.sizes[1];
  }
}

TEST(ChangedShards, AreTheSameAfterSimplification) {
  std::mt19937 random(14);
  for (int round = 0; round < rounds; ++round) {
    RandomShard made = randomShard(random);
    // A bound that excludes nothing.
    const std::int64_t elements = made.elements();
    if (round % 2 == 0 && made.shard.bounds.empty())
      made.shard.bounds.push_back({elements, 0});
    Shard simple = made.shard;
    simplify(simple, made.sizes);
    for (const auto &rank : ranksOf(made.sizes))
      ASSERT_EQ(enumerate(simple, rank, elements), enumerate(made.shard, rank, elements))
          << round << ": " << describe(made.shard) << " of " << elements << " on " << made.sizes[0] << " x "
          << made.sizes[1];
  }
}

/// A bound that has the axis has the digit of its ranks instead.
TEST(ChangedShards, AGatherReplacesAnAxisInBounds) {
  std::vector<Bound> bounds{{6, 1}, {24, 2}};
  EXPECT_TRUE(gatherAxis(bounds, 0, 2));
  EXPECT_EQ(bounds, (std::vector<Bound>{{6, 0}, {24, 2}}));
  // From the second one on, the ranks have padding if their digit is past the end of the level.
  for (std::int64_t step : {23, 24, 25}) {
    std::vector<Bound> own = bounds;
    EXPECT_EQ(gatherAxis(own, 1, step), step < 24);
    EXPECT_EQ(own, (std::vector<Bound>{{6, 0}, {24, 0}}));
    EXPECT_TRUE(gatherAxis(own, 1, 100)) << "no bound has the axis";
  }
}

TEST(ChangedShards, ADimMustBeDividedIntoItsChunks) {
  const std::vector<std::uint32_t> sizes{2, 1};
  const Shape shape{6};
  const auto of = [&](std::int64_t segments, std::int64_t local, std::int64_t extent) {
    return shardOf(shape, std::vector<DimSharding>{{{0}, segments, local, false, extent}}, sizes).has_value();
  };
  EXPECT_TRUE(of(1, 3, 6));
  EXPECT_TRUE(of(2, 4, 3));
  EXPECT_TRUE(of(1, 6, 6)) << "the first rank has all elements";
  EXPECT_FALSE(of(4, 4, 1)) << "four segments of one element do not make six";
  EXPECT_FALSE(of(2, 3, 3)) << "two segments do not have three elements";
  EXPECT_FALSE(of(1, 3, 5)) << "not the extent";
  EXPECT_FALSE(of(1, 7, 6)) << "the chunk is longer than the dim";
}

} // namespace
} // namespace sluice::check::proof
