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

TEST(Indexing, RowMajorOrderIsThatOfAllElements) {
  const Indexing dense = denseIndexing(Shape{2, 1, 3});
  EXPECT_TRUE(isRowMajor(dense, Shape{2, 1, 3}));
  EXPECT_FALSE(isRowMajor(dense, Shape{2, 3}));
  EXPECT_FALSE(isRowMajor(dense, Shape{2, 2, 3}));
  EXPECT_FALSE(isRowMajor(dense, Shape{2, 1, 6}));
  EXPECT_FALSE(isRowMajor({1, dense.dims}, Shape{2, 1, 3}));
  EXPECT_FALSE(isRowMajor(*transposed(denseIndexing(Shape{2, 2}), Shape{1, 0}), Shape{2, 2}));
  EXPECT_FALSE(isRowMajor({0, {{{2, 3}}, {{1, 3}}, {{3, 1}}}}, Shape{2, 1, 3}));
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

TEST(Indexing, OtherShapesAreNone) {
  const Indexing at = denseIndexing(Shape{2, 3});
  EXPECT_FALSE(reshaped(at, Shape{3}));
  EXPECT_FALSE(reshaped(at, Shape{12}));
  EXPECT_FALSE(reshaped(denseIndexing(Shape{0, 2}), Shape{0}));
  EXPECT_FALSE(transposed(at, Shape{0}));
  EXPECT_FALSE(transposed(at, Shape{-1, 0}));
  EXPECT_FALSE(transposed(at, Shape{0, 2}));
  EXPECT_FALSE(broadcasted(at, Shape{3}));
  EXPECT_EQ(indicesOf(*broadcasted(denseIndexing(Shape{2, 1}), Shape{2, 2})), (Shape{0, 0, 1, 1}));
}

TEST(Indexing, SlicesAreInsideOfTheDim) {
  const Indexing at = denseIndexing(Shape{6});
  EXPECT_EQ(indicesOf(*sliced(at, 0, 0, 1, 1)), Shape{0});
  EXPECT_EQ(indicesOf(*sliced(at, 0, 1, 3, 2)), (Shape{1, 3, 5}));
  EXPECT_FALSE(sliced(at, 1, 0, 1, 1));
  EXPECT_FALSE(sliced(at, 0, -1, 2, 1));
  EXPECT_FALSE(sliced(at, 0, 2, 0, 1));
  EXPECT_FALSE(sliced(at, 0, 1, 3, 0));
  EXPECT_FALSE(sliced(at, 0, 2, 3, 2));
}

/// A dim of several digits is sliced in full periods of the inner ones.
TEST(Indexing, SlicesOfSeveralDigits) {
  const Indexing turned = *transposed(denseIndexing(Shape{4, 3}), Shape{1, 0}), at = *reshaped(turned, Shape{12});
  const Shape all = indicesOf(at);
  EXPECT_EQ(indicesOf(*sliced(at, 0, 4, 8, 1)), Shape(all.begin() + 4, all.end()));
  EXPECT_FALSE(sliced(at, 0, 0, 4, 2));
  EXPECT_FALSE(sliced(at, 0, 2, 4, 1));
  EXPECT_FALSE(sliced(at, 0, 4, 6, 1));
}

} // namespace
} // namespace sluice::check::proof
