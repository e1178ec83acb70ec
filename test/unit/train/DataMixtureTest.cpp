//===- DataMixtureTest.cpp - shares of weighted sources ------------------------------===//
#include "runtime/train/DataMixture.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace sluice;

namespace {

// The index of a row is the number of earlier rows of its source, and the number of rows is that of the share.
TEST(DataMixture, SharesAndIndices) {
  for (const std::vector<double> &weights :
       {std::vector<double>{0.7, 0.3}, {1, 1}, {1, 2, 3, 4}, {1000, 1}, {1e-9, 1}, {0.1, 0.2, 0.3}, {5}}) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::uint64_t seed : {0u, 1u, 77u}) {
      const DataMixture mixture(weights, seed);
      std::vector<std::uint64_t> counts(weights.size());
      double largest = 0;
      for (std::uint64_t position = 0; position < 5000; ++position) {
        const DataMixture::Row row = mixture.at(position);
        ASSERT_LT(row.source, weights.size());
        ASSERT_EQ(row.index, counts[row.source]++) << position;
        for (std::size_t i = 0; i < weights.size(); ++i)
          largest = std::max(largest, std::abs(static_cast<double>(counts[i]) -
                                               weights[i] / total * static_cast<double>(position + 1)));
      }
      EXPECT_LT(largest, 3) << "rows more or fewer than the share";
      for (std::size_t i = 0; i < weights.size(); ++i)
        EXPECT_EQ(mixture.count(i, 5000), counts[i]);
    }
  }
}

// The share also holds in any window of consecutive rows, for example in a step.
TEST(DataMixture, SharesOfWindows) {
  const DataMixture mixture(std::vector<double>{0.7, 0.3}, 5);
  for (std::uint64_t begin = 0; begin < 3000; begin += 7) {
    const std::uint64_t count = mixture.count(0, begin + 100) - mixture.count(0, begin);
    EXPECT_NEAR(static_cast<double>(count), 70, 3) << begin;
  }
}

// No sums are lost far into a run.
TEST(DataMixture, LargePositions) {
  const DataMixture mixture(std::vector<double>{0.25, 0.5, 0.25}, 3);
  const std::uint64_t far = std::uint64_t(1) << 45;
  std::vector<std::uint64_t> counts{mixture.count(0, far), mixture.count(1, far), mixture.count(2, far)};
  EXPECT_EQ(counts[0] + counts[1] + counts[2], far);
  EXPECT_NEAR(static_cast<double>(counts[1]) - static_cast<double>(far) / 2, 0, 20);
  for (std::uint64_t position = far; position < far + 1000; ++position) {
    const DataMixture::Row row = mixture.at(position);
    ASSERT_EQ(row.index, counts[row.source]++);
  }
}

TEST(DataMixture, OnlyRatiosAndSeedMatter) {
  const DataMixture a(std::vector<double>{1, 3}, 9), b(std::vector<double>{0.25, 0.75}, 9),
      c(std::vector<double>{1, 3}, 10);
  std::vector<std::size_t> first, second, third;
  for (std::uint64_t position = 0; position < 200; ++position) {
    first.push_back(a.at(position).source);
    second.push_back(b.at(position).source);
    third.push_back(c.at(position).source);
  }
  EXPECT_EQ(first, second);
  EXPECT_NE(first, third);
}

} // namespace
