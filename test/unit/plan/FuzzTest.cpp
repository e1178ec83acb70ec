//===- FuzzTest.cpp - claims about every file that may be a plan --------------------------===//
//
// Fixed seeds, so that a failure repeats. Two kinds of mutation: of bytes, and of values of the plan in memory, which
// is then written as a compiler would. The claims are those of OpenPlan.h.
//
//===----------------------------------------------------------------------===//
#include "HandPlan.h"

#include "runtime/plan/Serialize.h"
#include "test/fuzz/OpenPlan.h"
#include "test/fuzz/PlanMutation.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace sluice::test {
namespace {

/// The results of many files.
struct Results {
  int files = 0, parsed = 0, accepted = 0;
  std::set<int> refused;

  void open(const std::vector<std::uint8_t> &bytes) {
    const fuzz::OpenedPlan opened = fuzz::openPlan(bytes);
    EXPECT_EQ(opened.problem, "") << "file " << files;
    ++files;
    parsed += opened.isParsed;
    accepted += opened.isAccepted;
    refused.insert(opened.refused);
  }
};

TEST(Fuzz, MutatedBytes) {
  HandPlan hand;
  const std::vector<std::uint8_t> good = serializePlan(hand.plan);
  std::mt19937 random(1);
  Results unchanged, sealed;
  for (int round = 0; round < 6000; ++round) {
    std::vector<std::uint8_t> bytes = good;
    const int changes = 1 + int(random() % 3);
    for (int c = 0; c < changes; ++c) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
      case 0:
        bytes[at] = std::uint8_t(random());
        break;
      case 1:
        bytes[at] = 0xff;
        break;
      case 2:
        bytes[at] = std::uint8_t(bytes[at] + (random() % 2 ? 1 : -1));
        break;
      default:
        for (std::size_t k = at; k < std::min(at + 4, bytes.size()); ++k)
          bytes[k] = bytes[random() % bytes.size()];
      }
    }
    if (bytes == good)
      continue;
    unchanged.open(bytes);
    if (fuzz::sealBytes(bytes))
      sealed.open(bytes);
  }
  EXPECT_EQ(unchanged.parsed, 0) << "the digest covers every byte";
  EXPECT_GT(sealed.parsed, sealed.files / 2);
}

TEST(Fuzz, MutatedValues) {
  std::minstd_rand random(2);
  Results results;
  for (int round = 0; round < 5000; ++round) {
    HandPlan hand(/*carries=*/round % 2);
    fuzz::mutatePlan(hand.plan, random);
    results.open(serializePlan(hand.plan));
  }
  EXPECT_GT(results.parsed, results.files * 9 / 10);
  EXPECT_GT(results.accepted, 0);
  // Each property that a change of the hand-written plan can break was refused.
  for (const int property : {1, 2, 3, 4, 5, 6, 8, 10, 11, 12})
    EXPECT_TRUE(results.refused.contains(property)) << "P" << property;
}

} // namespace
} // namespace sluice::test
