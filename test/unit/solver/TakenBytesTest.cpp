//===- TakenBytesTest.cpp - gaps between what is taken --------------------------------===//
#include "passes/solver/TakenBytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace sluice;

namespace {

/// What TakenBytes promises, by a look at everything that was taken.
class Plain {
public:
  struct Stretch {
    std::uint32_t from, to;
  };
  void take(Stretch at, ByteRun run) { taken.push_back({at, run}); }

  std::uint64_t gapFor(const std::vector<Stretch> &over, std::uint64_t bytes, PackingFit fit) const {
    std::vector<ByteRun> runs;
    for (const auto &[at, run] : taken)
      if (std::any_of(over.begin(), over.end(), [&](const Stretch &s) { return at.from < s.to && s.from < at.to; }))
        runs.push_back(run);
    std::sort(runs.begin(), runs.end(), [](const ByteRun &a, const ByteRun &b) { return a.begin < b.begin; });
    std::uint64_t top = 0, best = ~std::uint64_t(0), bestGap = ~std::uint64_t(0);
    for (const ByteRun &run : runs) {
      if (run.begin >= top + bytes && run.begin - top < bestGap && (fit == PackingFit::best || best > top)) {
        best = top;
        bestGap = fit == PackingFit::best ? run.begin - top : 0;
      }
      top = std::max(top, run.end);
    }
    return best != ~std::uint64_t(0) ? best : top;
  }

private:
  std::vector<std::pair<Stretch, ByteRun>> taken;
};

TEST(TakenBytes, FindTheGapsThatALookAtEverythingFinds) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 numbers(seed);
    const std::uint32_t instants = 1 + numbers() % 70;
    TakenBytes taken(instants);
    for (int round = 0; round < 2; ++round) {
      Plain plain;
      taken.clear();
      for (int step = 0; step < 120; ++step) {
        std::vector<Plain::Stretch> over(1 + numbers() % 2);
        for (Plain::Stretch &s : over) {
          s.from = numbers() % instants;
          s.to = s.from + 1 + numbers() % (instants - s.from);
          taken.look(s.from, s.to);
        }
        const std::uint64_t bytes = 1 + numbers() % 40;
        const PackingFit fit = numbers() % 2 ? PackingFit::first : PackingFit::best;
        const std::uint64_t gap = taken.gapFor(bytes, fit);
        ASSERT_EQ(gap, plain.gapFor(over, bytes, fit)) << "seed " << seed << " step " << step;
        // Not always where the gap is: what is taken may be taken again.
        const std::uint64_t begin = numbers() % 3 ? gap : numbers() % 200;
        for (const Plain::Stretch &s : over) {
          taken.take(s.from, s.to, {begin, begin + bytes});
          plain.take(s, {begin, begin + bytes});
        }
      }
    }
  }
}

TEST(TakenBytes, NothingTakenIsFreeFromTheStart) {
  TakenBytes taken(3);
  taken.look(0, 3);
  EXPECT_EQ(taken.gapFor(10, PackingFit::first), 0u);
  taken.take(1, 2, {0, 10});
  taken.look(0, 1);
  taken.look(2, 3);
  EXPECT_EQ(taken.gapFor(10, PackingFit::best), 0u);
  taken.look(1, 3);
  EXPECT_EQ(taken.gapFor(10, PackingFit::best), 10u);
}

} // namespace
