//===- OccupiedRangesTest.cpp - gaps between occupied ranges ---------------------------------===//
#include "passes/solver/OccupiedRanges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace sluice;

namespace {

/// A reference for OccupiedRanges: a list of all occupied ranges.
class Plain {
public:
  struct Interval {
    std::uint32_t from, to;
  };
  void occupy(Interval at, ByteRange range) { occupied.push_back({at, range}); }

  std::uint64_t findGap(const std::vector<Interval> &over, std::uint64_t bytes, PackingFit fit) const {
    std::vector<ByteRange> ranges;
    for (const auto &[at, range] : occupied)
      if (std::any_of(over.begin(), over.end(), [&](const Interval &s) { return at.from < s.to && s.from < at.to; }))
        ranges.push_back(range);
    std::sort(ranges.begin(), ranges.end(), [](const ByteRange &a, const ByteRange &b) { return a.begin < b.begin; });
    std::uint64_t top = 0, best = ~std::uint64_t(0), bestGap = ~std::uint64_t(0);
    for (const ByteRange &range : ranges) {
      if (range.begin >= top + bytes && range.begin - top < bestGap && (fit == PackingFit::best || best > top)) {
        best = top;
        bestGap = fit == PackingFit::best ? range.begin - top : 0;
      }
      top = std::max(top, range.end);
    }
    return best != ~std::uint64_t(0) ? best : top;
  }

private:
  std::vector<std::pair<Interval, ByteRange>> occupied;
};

TEST(OccupiedRanges, FindsTheGapsOfTheReference) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 numbers(seed);
    const std::uint32_t instants = 1 + numbers() % 70;
    OccupiedRanges occupied(instants);
    for (int round = 0; round < 2; ++round) {
      Plain plain;
      occupied.clear();
      for (int step = 0; step < 120; ++step) {
        std::vector<Plain::Interval> over(1 + numbers() % 2);
        for (Plain::Interval &s : over) {
          s.from = numbers() % instants;
          s.to = s.from + 1 + numbers() % (instants - s.from);
          occupied.addInstants(s.from, s.to);
        }
        const std::uint64_t bytes = 1 + numbers() % 40;
        const PackingFit fit = numbers() % 2 ? PackingFit::first : PackingFit::best;
        const std::uint64_t gap = occupied.findGap(bytes, fit);
        ASSERT_EQ(gap, plain.findGap(over, bytes, fit)) << "seed " << seed << " step " << step;
        // Not always at the gap: occupied ranges may overlap.
        const std::uint64_t begin = numbers() % 3 ? gap : numbers() % 200;
        for (const Plain::Interval &s : over) {
          occupied.occupy(s.from, s.to, {begin, begin + bytes});
          plain.occupy(s, {begin, begin + bytes});
        }
      }
    }
  }
}

TEST(OccupiedRanges, EmptyInstantsAreFree) {
  OccupiedRanges occupied(3);
  occupied.addInstants(0, 3);
  EXPECT_EQ(occupied.findGap(10, PackingFit::first), 0u);
  occupied.occupy(1, 2, {0, 10});
  occupied.addInstants(0, 1);
  occupied.addInstants(2, 3);
  EXPECT_EQ(occupied.findGap(10, PackingFit::best), 0u);
  occupied.addInstants(1, 3);
  EXPECT_EQ(occupied.findGap(10, PackingFit::best), 10u);
}

} // namespace
