//===- UnitPlanTest.cpp - which unit each parameter belongs to --------------------------===//

#include "passes/solver/UnitPlan.h"

#include <gtest/gtest.h>

using namespace sluice;

namespace {

using Names = std::vector<std::string>;

TEST(UnitPlan, ParameterBelongsToTheBlockThatHoldsAllItsUses) {
  UnitPlan plan = planUnits({{"h.0.w", {"h.0", "h.0"}}, {"h.1.w", {"h.1"}}, {"head", {""}}}, {"h.0", "h.1"}, true);
  EXPECT_EQ(plan.units, (Names{"root", "h.0", "h.1"}));
  EXPECT_EQ(plan.unitOf, (std::vector<std::size_t>{1, 2, 0}));
}

TEST(UnitPlan, ParameterOfTwoBlocksBelongsToRoot) {
  UnitPlan plan = planUnits({{"tied", {"h.0", "h.1"}}, {"outside", {"h.0", ""}}}, {"h.0", "h.1"}, true);
  EXPECT_EQ(plan.units, Names{"root"});
  EXPECT_EQ(plan.unitOf, (std::vector<std::size_t>{0, 0}));
}

TEST(UnitPlan, UnitsStandInTheOrderOfBlocksNotOfParameters) {
  UnitPlan plan = planUnits({{"b.w", {"b"}}, {"a.w", {"a"}}}, {"a", "empty", "b"}, true);
  EXPECT_EQ(plan.units, (Names{"root", "a", "b"}));
  EXPECT_EQ(plan.unitOf, (std::vector<std::size_t>{2, 1}));
}

TEST(UnitPlan, UnusedParameterGoesByItsName) {
  UnitPlan plan = planUnits({{"h.1.unused", {}}, {"h.10.w", {"h.10"}}, {"other.w", {}}, {"h.1", {}}},
                            {"h.1", "h.10"}, true);
  EXPECT_EQ(plan.units, (Names{"root", "h.1", "h.10"}));
  EXPECT_EQ(plan.unitOf, (std::vector<std::size_t>{1, 2, 0, 0}));
}

TEST(UnitPlan, OneUnitOnRequest) {
  UnitPlan plan = planUnits({{"h.0.w", {"h.0"}}, {"h.1.w", {"h.1"}}}, {"h.0", "h.1"}, false);
  EXPECT_EQ(plan.units, Names{"root"});
  EXPECT_EQ(plan.unitOf, (std::vector<std::size_t>{0, 0}));
}

} // namespace
