//===- WhenTest.cpp - repetitions of a section ----------------------------------------===//

#include "dialect/rules/When.h"

#include <gtest/gtest.h>

#include <vector>

using namespace sluice;

namespace {

std::vector<std::int64_t> repetitionsOf(When when, std::int64_t repeat) {
  std::vector<std::int64_t> issued;
  for (std::int64_t repetition = 0; repetition < repeat; ++repetition)
    if (when.includes(repetition, repeat))
      issued.push_back(repetition);
  return issued;
}

TEST(When, IncludesTheRepetitionsOfItsName) {
  using List = std::vector<std::int64_t>;
  EXPECT_EQ((List{0, 1, 2}), repetitionsOf(WhenKind::all, 3));
  EXPECT_EQ((List{0}), repetitionsOf(WhenKind::first, 3));
  EXPECT_EQ((List{1, 2}), repetitionsOf(WhenKind::not_first, 3));
  EXPECT_EQ((List{2}), repetitionsOf(WhenKind::last, 3));
  EXPECT_EQ((List{0, 1}), repetitionsOf(WhenKind::not_last, 3));
  EXPECT_EQ((List{0}), repetitionsOf(WhenKind::last, 1));
  EXPECT_EQ((List{}), repetitionsOf(WhenKind::not_first, 1));
}

TEST(When, OfASubsetIncludesOnlyIt) {
  const std::int64_t repeat = 5;
  for (unsigned bits = 1; bits < 1u << repeat; ++bits) {
    std::vector<std::int64_t> subset;
    for (std::int64_t repetition = 0; repetition < repeat; ++repetition)
      if (bits >> repetition & 1)
        subset.push_back(repetition);
    EXPECT_EQ(subset, repetitionsOf(When::of(subset, repeat), repeat)) << bits;
  }
}

TEST(When, PrefersANameToAList) {
  EXPECT_EQ(When(), When::of({0, 1, 2}, 3));
  EXPECT_EQ(When(WhenKind::first), When::of({0}, 3));
  EXPECT_EQ(When(WhenKind::last), When::of({2}, 3));
  EXPECT_EQ(When(WhenKind::not_first), When::of({1, 2}, 3));
  EXPECT_EQ(When(WhenKind::not_last), When::of({0, 1}, 3));
  EXPECT_EQ(WhenKind::listed, When::of({0, 2}, 3).getKind());
  EXPECT_EQ(WhenKind::listed, When::of({1}, 3).getKind());
}

TEST(When, ListsCompareByTheirRepetitions) {
  const std::vector<std::int64_t> a = {0, 2}, b = {0, 2}, c = {0, 3};
  EXPECT_EQ(When(a), When(b));
  EXPECT_NE(When(a), When(c));
  EXPECT_EQ(hash_value(When(a)), hash_value(When(b)));
  EXPECT_NE(When(a), When());
}

} // namespace
