//===- UnitPlanTest.cpp - the unit of each parameter ------------------------------------===//

#include "passes/solver/UnitPlan.h"

#include <gtest/gtest.h>

using namespace sluice;

namespace {

using Names = std::vector<std::string>;
using Indices = std::vector<std::size_t>;
using Kind = UnitRequest::Kind;

/// A star at the end, or the name itself.
bool matches(const std::string &glob, const std::string &name) {
  if (glob.ends_with('*'))
    return name.starts_with(glob.substr(0, glob.size() - 1));
  return glob == name;
}

UnitPlan plan(std::vector<UnitParameter> parameters, const Names &blocks, Kind kind = Kind::blocks) {
  Indices firsts(blocks.size());
  for (std::size_t i = 0; i < firsts.size(); ++i)
    firsts[i] = i + 1;
  return planUnits(parameters, blocks, firsts, {kind, 0, {}, matches});
}

UnitPlan byTable(std::vector<UnitParameter> parameters, const Names &blocks,
                 std::vector<std::pair<std::string, Names>> table) {
  Indices firsts(blocks.size());
  for (std::size_t i = 0; i < firsts.size(); ++i)
    firsts[i] = i + 1;
  return planUnits(parameters, blocks, firsts, {Kind::table, 0, std::move(table), matches});
}

TEST(UnitPlan, ParameterBelongsToTheBlockOfAllItsUses) {
  UnitPlan made =
      plan({{"h.0.w", {"h.0", "h.0/attn"}}, {"h.1.w", {"h.1"}}, {"head", {""}}}, {"h.0", "h.0/attn", "h.1"});
  EXPECT_EQ(made.units, (Names{"root", "h.0", "h.1"}));
  EXPECT_EQ(made.unitOf, (Indices{1, 2, 0}));
}

TEST(UnitPlan, ParameterOfTwoBlocksBelongsToRoot) {
  UnitPlan made = plan({{"tied", {"h.0", "h.1"}}, {"outside", {"h.0", ""}}}, {"h.0", "h.1"});
  EXPECT_EQ(made.units, Names{"root"});
  EXPECT_EQ(made.unitOf, (Indices{0, 0}));
}

TEST(UnitPlan, UnitsAreInTheOrderOfBlocksNotOfParameters) {
  UnitPlan made = plan({{"b.w", {"b"}}, {"a.w", {"a"}}}, {"a", "empty", "b"});
  EXPECT_EQ(made.units, (Names{"root", "a", "b"}));
  EXPECT_EQ(made.unitOf, (Indices{2, 1}));
}

TEST(UnitPlan, UnusedParameterBelongsToTheBlockOfItsName) {
  UnitPlan made = plan({{"h.1.unused", {}}, {"h.10.w", {"h.10"}}, {"other.w", {}}, {"h.1", {}}}, {"h.1", "h.10"});
  EXPECT_EQ(made.units, (Names{"root", "h.1", "h.10"}));
  EXPECT_EQ(made.unitOf, (Indices{1, 2, 0, 0}));
}

TEST(UnitPlan, OneUnitOnRequest) {
  UnitPlan made = plan({{"h.0.w", {"h.0"}}, {"h.1.w", {"h.1"}}}, {"h.0", "h.1"}, Kind::root);
  EXPECT_EQ(made.units, Names{"root"});
  EXPECT_EQ(made.unitOf, (Indices{0, 0}));
}

TEST(UnitPlan, TableSpansBlocksAndLeavesTheRestToRoot) {
  UnitPlan made = byTable({{"h.0.w", {"h.0"}}, {"h.1.w", {"h.1"}}, {"h.2.w", {"h.2"}}, {"head", {""}}},
                          {"h.0", "h.1", "h.2"}, {{"rest", {"h.1", "h.2"}}, {"first", {"h.0"}}, {"none", {}}});
  EXPECT_EQ(made.error, "");
  EXPECT_EQ(made.units, (Names{"root", "first", "rest", "none"}));
  EXPECT_EQ(made.unitOf, (Indices{1, 2, 2, 0}));
  EXPECT_EQ(made.blocks[2], (Names{"h.1", "h.2"}));
}

TEST(UnitPlan, InnerBlocksAndNamedParametersHavePriority) {
  std::vector<UnitParameter> parameters = {{"h.0.mlp.w", {"h.0/mlp"}}, {"h.0.w", {"h.0"}}, {"h.0.b", {"h.0"}}};
  UnitPlan made =
      byTable(parameters, {"h.0", "h.0/mlp"}, {{"layer", {"h.0"}}, {"mlp", {"h.0/mlp"}}, {"bias", {"h.0.b"}}});
  EXPECT_EQ(made.error, "");
  EXPECT_EQ(made.units[made.unitOf[0]], "mlp");
  EXPECT_EQ(made.units[made.unitOf[1]], "layer");
  EXPECT_EQ(made.units[made.unitOf[2]], "bias");
}

TEST(UnitPlan, TableErrors) {
  std::vector<UnitParameter> parameters = {{"a.w", {"a"}, {"a.alias"}}, {"b.w", {"b"}}, {"tied", {"a", "b"}}};
  EXPECT_EQ(byTable(parameters, {"a", "b"}, {{"u", {"c"}}}).error,
            "glob 'c' of unit 'u' matches no block or parameter");
  EXPECT_EQ(byTable(parameters, {"a", "b"}, {{"u", {"a*"}}, {"v", {"a*"}}}).error,
            "block 'a' is in two units, 'u' and 'v'");
  EXPECT_EQ(byTable(parameters, {"a", "b"}, {{"u", {"a.w"}}, {"v", {"a.alias"}}}).error,
            "parameter 'a.w' is in two units, 'u' and 'v'");
  EXPECT_EQ(byTable(parameters, {"a", "b"}, {{"u", {"a"}}, {"v", {"b"}}}).error,
            "parameter 'tied' is used in two units, 'u' and 'v', and named by none");
  EXPECT_EQ(byTable(parameters, {"a", "b"}, {{"u", {"a"}}, {"v", {"b", "tied"}}}).error, "");
}

TEST(UnitPlan, BytesFillUnitsInOrderOfUse) {
  std::vector<UnitParameter> parameters = {
      {"c", {"x"}, {}, 60, 3}, {"a", {"x"}, {}, 60, 1}, {"b", {"x"}, {}, 40, 2}, {"tied", {"x", "y"}, {}, 8, 1}};
  UnitPlan made = planUnits(parameters, {"x", "y"}, {1, 5}, {Kind::bytes, 100, {}, matches});
  EXPECT_EQ(made.units, (Names{"root", "unit.0", "unit.1"}));
  EXPECT_EQ(made.unitOf, (Indices{2, 1, 1, 0}));
}

TEST(UnitPlan, SeparateUnits) {
  std::vector<UnitParameter> parameters = {{"a.w", {"a"}}, {"a.e", {"a"}}, {"b.e", {"b"}}, {"c.w", {"c"}}, {"e", {}}};
  UnitPlan made = planUnits(parameters, {"a", "b", "c"}, {1, 2, 3}, {Kind::blocks, 0, {}, matches});
  separateUnits(made, {false, true, true, false, true}, ".experts");
  // A unit of only separate parameters is not divided, except for the root.
  EXPECT_EQ(made.units, (Names{"root", "root.experts", "a", "a.experts", "b", "c"}));
  EXPECT_EQ(made.unitOf, (Indices{2, 3, 4, 5, 1}));
  EXPECT_EQ(made.blocks[3], Names());
  EXPECT_EQ(made.blocks[2], Names{"a"});
}

} // namespace
