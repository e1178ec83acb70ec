//===- FirstDifferenceTest.cpp - the first difference of two plans ---------------------------===//
#include "HandPlan.h"

#include "runtime/report/Diff.h"

#include <gtest/gtest.h>

#include <functional>

namespace sluice::test {
namespace {

std::string differenceAfter(const std::function<void(HandPlan &)> &change) {
  HandPlan first, second;
  change(second);
  return firstDifference(first.plan, second.plan);
}

TEST(FirstDifference, IsTheModel) {
  EXPECT_EQ(differenceAfter([](HandPlan &h) {
              h.plan.model_digest = {0xab, 0xcd};
              h.plan.recipe = {"mesh.shard = 4"};
            }),
            "expected the model with digest  but got abcd");
}

TEST(FirstDifference, IsASettingOfTheRecipe) {
  EXPECT_EQ(differenceAfter([](HandPlan &h) {
              h.plan.recipe = {"mesh.shard = 4"};
              h.plan.minor += 1;
            }),
            "the recipe differs, mesh.shard: 2 -> 4");
}

TEST(FirstDifference, IsTheVersion) {
  EXPECT_EQ(differenceAfter([](HandPlan &h) {
              h.plan.minor = 99;
              h.plan.microbatches = 3;
            }),
            "expected version 3.1 with catalogue 1 but got 3.99 with catalogue 1");
}

TEST(FirstDifference, IsATable) {
  EXPECT_EQ(differenceAfter([](HandPlan &h) {
              h.plan.microbatches = 3;
              h.drop("h");
            }),
            "a table differs, microbatches: 2 -> 3");
}

TEST(FirstDifference, IsAnInstruction) {
  EXPECT_EQ(differenceAfter([](HandPlan &h) {
              h.at("h").when = plan::When::first;
            }).rfind("entry point 'train_step' differs, - ", 0),
            0u);
}

TEST(FirstDifference, IsANameOrACost) {
  EXPECT_EQ(differenceAfter([](HandPlan &h) { h.launch("h").flops = 7; }),
            "names, value ids, costs or locations differ, and nothing that 'sluice-plan diff' compares");
}

} // namespace
} // namespace sluice::test
