//===- PartIndicesTest.cpp - chunks of parts, against their enumeration --------------------===//
#include "runtime/plan/check/proof/Parts.h"
#include "test/unit/plan/proof/ShardElements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sluice::check::proof {
namespace {

std::int64_t upTo(std::mt19937 &random, std::int64_t most) { return 1 + std::int64_t(random() % std::uint64_t(most)); }

/// The part of a tensor of three dims that the ranks along axis 0 divide, with segments.
struct RandomPart {
  Shape shape;
  std::vector<std::uint32_t> sizes{2, 3};
  Shard shard;
};

RandomPart randomPart(std::mt19937 &random) {
  RandomPart made;
  const std::int64_t segments = upTo(random, 3), extent = 1 + upTo(random, 5);
  made.shape = {upTo(random, 3), segments * extent, upTo(random, 3)};
  std::vector<DimSharding> dims;
  for (std::int64_t all : made.shape)
    dims.push_back({{}, 1, all});
  if (random() % 4 != 0)
    dims[1] = {{0}, segments, segments * ((extent + 1) / 2), false, extent};
  made.shard = *shardOf(made.shape, dims, made.sizes);
  return made;
}

/// Chunks of the part along axis 1: complete chunks, or a window of any digits.
Shard randomWindow(std::mt19937 &random, std::int64_t elements) {
  Shard window;
  if (random() % 2 == 0) {
    const std::int64_t length = (elements + 2) / 3;
    window.at = denseIndexing(Shape{length});
    window.steps = {{1, length}};
    return window;
  }
  window.at.base = std::int64_t(random() % 4);
  for (int d = 0; d < 2; ++d) {
    Digits &dim = window.at.dims.emplace_back();
    for (std::uint64_t k = random() % 3; k > 0; --k)
      dim.push_back({upTo(random, 4), std::int64_t(random() % 13)});
  }
  if (random() % 2 == 0)
    window.steps.push_back({std::uint32_t(random() % 2), upTo(random, 12)});
  if (random() % 16 == 0)
    window.bounds.push_back({upTo(random, 12), 0});
  return window;
}

TEST(PartIndices, AWindowInTheRootHasTheElementsOfThePart) {
  std::mt19937 random(21);
  int found = 0, padded = 0;
  for (int round = 0; round < 40000; ++round) {
    const RandomPart made = randomPart(random);
    const std::int64_t elements = elementsOf(made.shape);
    Parts parts;
    const PartId id = parts.of(made.shard);
    ASSERT_EQ(parts.of(made.shard), id) << "an equal part has the same id";
    ASSERT_EQ(parts[id].elements(), elementsOf(shapeOf(made.shard.at)));
    const Shard window = randomWindow(random, parts[id].elements());
    const std::optional<Shard> inRoot = parts.inRoot(id, window, elements, made.sizes);
    if (!inRoot)
      continue;
    ++found;
    for (const auto &rank : ranksOf(made.sizes)) {
      const std::vector<std::int64_t> part = enumerate(parts[id].shard, rank, elements);
      std::vector<std::int64_t> expected = enumerate(window, rank, std::int64_t(part.size()));
      for (std::int64_t &index : expected)
        index = index == padding ? padding : part[std::size_t(index)];
      ASSERT_EQ(enumerate(*inRoot, rank, elements), expected)
          << round << ": " << describe(window) << " of " << describe(parts[id].shard) << " is " << describe(*inRoot);
      padded += std::ranges::find(expected, padding) != expected.end();
    }
  }
  EXPECT_GT(found, 4000);
  EXPECT_GT(padded, 400);
}

/// Chunks that end within a segment of the part are no digits of the root.
TEST(PartIndices, AChunkAcrossSegmentsIsNotInTheRoot) {
  const std::vector<std::uint32_t> sizes{2, 2};
  Parts parts;
  // Of each of two segments of 6, the ranks have 3.
  const PartId id = parts.of(*shardOf(Shape{12}, std::vector<DimSharding>{{{0}, 2, 6, false, 6}}, sizes));
  EXPECT_TRUE(parts.inRoot(id, {denseIndexing(Shape{3}), {{1, 3}}, {}}, 12, sizes));
  EXPECT_FALSE(parts.inRoot(id, {denseIndexing(Shape{4}), {}, {}}, 12, sizes));
  EXPECT_FALSE(parts.inRoot(id, {denseIndexing(Shape{2}), {{1, 2}}, {}}, 12, sizes));
  // The axis of the part again.
  EXPECT_FALSE(parts.inRoot(id, {denseIndexing(Shape{3}), {{0, 3}}, {}}, 12, sizes));
}

/// The elements of a window on all ranks, or nothing if no digits describe them.
void expectElements(const Shard &own, const Shard &window, const std::vector<std::uint32_t> &sizes, bool isFound) {
  Parts parts;
  const PartId id = parts.of(own);
  const std::optional<Shard> inRoot = parts.inRoot(id, window, 1000, sizes);
  ASSERT_EQ(inRoot.has_value(), isFound) << describe(window);
  if (!isFound)
    return;
  for (const auto &rank : ranksOf(sizes)) {
    const std::vector<std::int64_t> part = enumerate(own, rank, 1000);
    std::vector<std::int64_t> expected = enumerate(window, rank, std::int64_t(part.size()));
    for (std::int64_t &index : expected)
      index = index == padding ? padding : part[std::size_t(index)];
    EXPECT_EQ(enumerate(*inRoot, rank, 1000), expected) << describe(window);
  }
}

TEST(PartIndices, WindowsWithBounds) {
  const std::vector<std::uint32_t> sizes{2, 3};
  const auto dense = [](std::int64_t elements) { return Shard{denseIndexing(Shape{elements}), {}, {}}; };
  // Three rows of four elements, along axis 1; of each, two chunks of three along axis 0.
  expectElements(dense(12), {denseIndexing(Shape{3}), {{0, 3}, {1, 4}}, {{4, 1}}}, sizes, true);
  // The same rows of a part at other distances.
  const Shard rows{{0, {{{3, 102}, {4, 1}}}}, {}, {}};
  expectElements(rows, {denseIndexing(Shape{3}), {{0, 3}, {1, 4}}, {{4, 1}}}, sizes, true);
  // Without the bound the second chunk ends in the next row.
  expectElements(rows, {denseIndexing(Shape{3}), {{0, 3}}, {{4, 0}}}, sizes, false);
  // Rows of eight elements, of which the part has two and a half.
  expectElements(dense(20), {{0, {{{3, 8}, {4, 1}}}}, {}, {{8, 0}}}, sizes, false);
  // From the third element of the second row.
  expectElements(rows, {{6, {{{3, 1}}}}, {}, {{4, 0}}}, sizes, false);
  expectElements(rows, {{6, {{{2, 1}}}}, {}, {}}, sizes, true);
}

/// Two ranks have elements of each row.
TEST(PartIndices, AnAxisHasOneDigit) {
  const std::vector<std::uint32_t> sizes{1, 4};
  const Shard window{{0, {{}}}, {{1, 2}}, {}};
  expectElements({{0, {{{2, 12}, {4, 1}}}}, {}, {}}, window, sizes, false);
  // Only the first two elements of a row are no padding.
  expectElements({{0, {{{2, 12}, {4, 1}}}}, {}, {{2, 0}}}, window, sizes, false);
}

} // namespace
} // namespace sluice::check::proof
