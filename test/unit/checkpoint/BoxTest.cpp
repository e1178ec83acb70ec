//===- BoxTest.cpp - rectangular parts of tensors ---------------------------------------===//
#include "runtime/checkpoint/Box.h"

#include <gtest/gtest.h>
#include <random>

using namespace sluice;

namespace {

std::vector<std::uint64_t> elementsOf(const std::vector<ElementRange> &ranges) {
  std::vector<std::uint64_t> elements;
  for (const ElementRange &range : ranges)
    for (std::uint64_t i = 0; i < range.count; ++i)
      elements.push_back(range.begin + i);
  return elements;
}

// Tests that any set of ranges becomes boxes that have its elements, each once.
TEST(Box, HasTheElementsOfRanges) {
  std::mt19937 random(1);
  for (const Extents &tensor : {Extents{}, Extents{7}, Extents{4, 5}, Extents{3, 4, 5}, Extents{2, 1, 3, 2}})
    for (int round = 0; round < 200; ++round) {
      const std::uint64_t total = Box{Extents(tensor.size()), tensor}.elements();
      std::vector<ElementRange> ranges;
      for (std::uint64_t at = random() % 3; at < total;) {
        const std::uint64_t count = std::min<std::uint64_t>(1 + random() % 9, total - at);
        ranges.push_back({at, count});
        at += count + random() % 3;
      }
      std::vector<std::uint64_t> found;
      for (const Box &box : boxesOf(ranges, tensor)) {
        const std::vector<std::uint64_t> inBox = elementsOf(rangesOf(box, tensor));
        for (std::uint64_t i = 0; i < inBox.size(); ++i)
          EXPECT_EQ(findInBox(box, tensor, inBox[i])->begin, i);
        found.insert(found.end(), inBox.begin(), inBox.end());
      }
      std::sort(found.begin(), found.end());
      ASSERT_EQ(found, elementsOf(ranges));
    }
}

// Tests that the shards of usual layouts are as few boxes as possible.
TEST(Box, AreFew) {
  EXPECT_EQ(boxesOf({{8, 4}, {12, 4}}, {5, 4}), (std::vector<Box>{{{2, 0}, {2, 4}}}));
  EXPECT_EQ(boxesOf({{2, 2}, {6, 2}, {10, 2}}, {3, 4}), (std::vector<Box>{{{0, 2}, {3, 2}}}));
  // Two segments of a fused dim.
  EXPECT_EQ(boxesOf({{0, 1}, {3, 1}, {6, 1}, {9, 1}}, {2, 6}), (std::vector<Box>{{{0, 0}, {2, 1}}, {{0, 3}, {2, 1}}}));
  // A range that begins and ends within rows.
  EXPECT_EQ(boxesOf({{3, 10}}, {4, 4}), (std::vector<Box>{{{0, 3}, {1, 1}}, {{1, 0}, {2, 4}}, {{3, 0}, {1, 1}}}));
}

// Tests that only an exact cover is accepted.
TEST(Box, CoversOnce) {
  const Box left{{0, 0}, {2, 2}}, right{{0, 2}, {2, 1}}, wide{{0, 0}, {2, 3}};
  EXPECT_TRUE(coversOnce(std::vector{left, right}, {2, 3}));
  EXPECT_TRUE(coversOnce(std::vector{right, left}, {2, 3}));
  EXPECT_TRUE(coversOnce(std::vector{wide}, {2, 3}));
  EXPECT_FALSE(coversOnce(std::vector{left}, {2, 3}));
  EXPECT_FALSE(coversOnce(std::vector{left, right, right}, {2, 3}));
  // The right number of elements, twice in one place.
  EXPECT_FALSE(coversOnce(std::vector{Box{{0, 0}, {1, 3}}, Box{{0, 0}, {1, 3}}}, {2, 3}));
  EXPECT_FALSE(coversOnce(std::vector{Box{{1, 0}, {2, 3}}}, {2, 3}));
  EXPECT_TRUE(coversOnce(std::vector{Box{}}, {}));
}

} // namespace
