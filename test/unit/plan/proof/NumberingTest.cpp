//===- NumberingTest.cpp - which values of the unsharded program are equal (P9) ------------===//
#include "runtime/plan/check/proof/Numbering.h"
#include "test/unit/plan/proof/ProofPlan.h"

#include <gtest/gtest.h>

#include <map>

namespace sluice::check::proof {
namespace {

using test::Ids;
using test::integer;
using test::list;
using test::number;
using test::ProofPlan;
using test::text;

constexpr auto i32 = plan::DType::i32, f64 = plan::DType::f64;

/// A program with the input x of 4 x 6 elements and y of the same shape, on ranks of one data axis.
class NumberingTest : public testing::Test {
protected:
  explicit NumberingTest(std::uint32_t ranks = 1) : plan({{"shard", ranks}}) {
    x = plan.input("x", {4, 6});
    y = plan.input("y", {4, 6});
  }
  const Value &valueOf(std::uint32_t id) {
    if (!numbering) {
      plan.end();
      numbering.emplace(plan.plan);
    }
    return numbering->value(id);
  }
  RootId rootOf(std::uint32_t id) { return valueOf(id).root; }
  /// The value has the elements of x at these indices.
  void expectView(std::uint32_t id, Indexing at, double coefficient = 1) {
    EXPECT_EQ(rootOf(id), rootOf(x)) << id;
    EXPECT_EQ(valueOf(id).at, at) << id;
    EXPECT_EQ(valueOf(id).coefficient, coefficient) << id;
  }
  void expectNoView(std::uint32_t id) {
    EXPECT_NE(rootOf(id), rootOf(x)) << id;
    EXPECT_NE(rootOf(id), 0u) << id;
  }

  ProofPlan plan;
  std::uint32_t x, y;
  std::optional<Numbering> numbering;
};

TEST_F(NumberingTest, CoefficientsOfTermsMayDifferByRounding) {
  const RootId a = rootOf(x), b = rootOf(y);
  const double third = 1.0 / 3, rounded = 1 - 2.0 / 3;
  ASSERT_NE(third, rounded);
  EXPECT_EQ(numbering->sumOf({a, third}, {b, 1}), numbering->sumOf({b, 1}, {a, rounded}));
  EXPECT_NE(numbering->sumOf({a, third}, {b, 1}), numbering->sumOf({a, 0.3333}, {b, 1}));
  EXPECT_EQ(numbering->powerSum(2, {{a, third}, {b, 1}}), numbering->powerSum(2, {{b, 1}, {a, rounded}}));
  EXPECT_NE(numbering->powerSum(2, {{a, third}, {b, 1}}), numbering->powerSum(2, {{a, 0.3333}, {b, 1}}));
  EXPECT_NE(numbering->powerSum(2, {{a, third}}), numbering->powerSum(3, {{a, third}}));
}

TEST_F(NumberingTest, ViewsHaveTheElementsOfTheirOperand) {
  const std::uint32_t reshaped = plan.op("model.reshape", {x}, {2, 12}),
                      turned = plan.op("model.transpose", {x}, {6, 4}, {list("permutation", {1, 0})}),
                      repeated = plan.op("model.broadcast", {x}, {2, 4, 6}),
                      part = plan.op("model.slice", {x}, {2, 6}, {list("start", {1, 0}), list("limit", {3, 6})}),
                      columns = plan.op("model.slice", {x}, {4, 3},
                                        {list("start", {0, 1}), list("limit", {4, 6}), list("step", {1, 2})}),
                      cast = plan.op("model.cast", {x}, {4, 6}, {}, "", f64),
                      scaled = plan.op("model.scale", {x}, {4, 6}, {number("factor", 3)}),
                      padded = plan.op("model.pad", {x}, {4, 6}, {list("low", {0, 0}), list("high", {0, 0})}),
                      gathered = plan.op("model.all_gather", {x}, {4, 6}), left = plan.value({4, 2}),
                      right = plan.value({4, 4});
  plan.define("model.split", {x}, {left, right}, {integer("dim", 1)});
  expectView(reshaped, denseIndexing(Shape{2, 12}));
  expectView(turned, {0, {{{6, 1}}, {{4, 6}}}});
  expectView(repeated, {0, {{{2, 0}}, {{4, 6}}, {{6, 1}}}});
  expectView(part, {6, {{{2, 6}}, {{6, 1}}}});
  expectView(columns, {1, {{{4, 6}}, {{3, 2}}}});
  expectView(cast, denseIndexing(Shape{4, 6}));
  expectView(scaled, denseIndexing(Shape{4, 6}), 3);
  expectView(padded, denseIndexing(Shape{4, 6}));
  expectView(gathered, denseIndexing(Shape{4, 6}));
  expectView(left, {0, {{{4, 6}}, {{2, 1}}}});
  expectView(right, {2, {{{4, 6}}, {{4, 1}}}});
}

TEST_F(NumberingTest, OtherShapesAndAttributesAreNoViews) {
  const Ids others{
      plan.op("model.reshape", {x}, {4, 5}),
      plan.op("model.reshape", {x, y}, {2, 12}),
      plan.op("model.broadcast", {x}, {4, 5}),
      plan.op("model.transpose", {x}, {4, 6}, {list("permutation", {1, 0})}),
      plan.op("model.transpose", {x}, {6, 4}, {list("permutation", {1, 1})}),
      plan.op("model.slice", {x}, {3, 6}, {list("start", {1, 0}), list("limit", {3, 6})}),
      plan.op("model.slice", {x}, {2, 6}, {list("start", {1}), list("limit", {3, 6})}),
      plan.op("model.slice", {x}, {2, 6}, {list("start", {1, 0}), list("limit", {3})}),
      plan.op("model.slice", {x}, {2, 6}, {list("start", {1, 0}), list("limit", {3, 6}), list("step", {1})}),
      plan.op("model.slice", {x}, {2, 6}, {list("start", {1, 0}), list("limit", {3, 6}), list("step", {1, 0})}),
      plan.op("model.split", {x}, {4, 7}, {integer("dim", 1)}),
      plan.op("model.split", {x}, {4, 6}, {integer("dim", 2)}),
      plan.op("model.cast", {x}, {4, 6}, {}, "", i32),
      plan.op("model.cast", {x}, {4, 5}, {}, "", f64),
      plan.op("model.scale", {x}, {4, 5}, {number("factor", 3)}),
      plan.op("model.pad", {x}, {4, 6}, {list("low", {1, 0}), list("high", {0, 0})}),
      plan.op("model.pad", {x}, {4, 6}, {list("low", {0, 0}), list("high", {0, 1})}),
      plan.op("model.pad", {x}, {4, 6}, {list("step", {1, 2})}),
      plan.op("model.pad", {x}, {4, 5}),
      plan.op("model.all_gather", {x}, {4, 5}),
      plan.op("model.relu", {x}, {4, 6}),
  };
  for (std::uint32_t id : others)
    expectNoView(id);
}

TEST_F(NumberingTest, ACastOfIntegersIsNoView) {
  const std::uint32_t whole = plan.input("n", {4, 6}, i32), cast = plan.op("model.cast", {whole}, {4, 6});
  EXPECT_NE(rootOf(cast), rootOf(whole));
}

/// Of an op without operands or results, or with values that nothing defines, nothing is known.
TEST_F(NumberingTest, ValuesThatAreMissing) {
  const std::uint32_t undefined = plan.value({4, 6});
  for (const char *op :
       {"model.reshape", "model.broadcast", "model.transpose", "model.slice", "model.split", "model.cast",
        "model.scale", "model.pad", "model.all_gather", "model.reduce_scatter", "model.relu"}) {
    plan.define(op, {x}, {});
    plan.define(op, {x}, {0});
    plan.define(op, {}, {});
  }
  const std::uint32_t none = plan.op("model.reshape", {0}, {4, 6}),
                      ofUndefined = plan.op("model.scale", {undefined}, {4, 6}),
                      again = plan.op("model.relu", {undefined}, {4, 6}),
                      sum = plan.op("model.add", {undefined, x}, {4, 6});
  EXPECT_NE(rootOf(none), 0u);
  EXPECT_NE(rootOf(ofUndefined), 0u);
  EXPECT_NE(rootOf(again), rootOf(ofUndefined));
  EXPECT_NE(rootOf(sum), rootOf(x));
}

TEST_F(NumberingTest, OperandsOfSomeOpsMayBeExchanged) {
  const auto slice = [&](std::uint32_t of) {
    return plan.op("model.slice", {of}, {2, 6}, {list("start", {1, 0}), list("limit", {3, 6})});
  };
  const std::uint32_t a = slice(x), b = slice(y);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const char *op : {"model.add", "model.multiply", "model.maximum"})
    pairs.push_back({plan.op(op, {a, b}, {2, 6}), plan.op(op, {b, a}, {2, 6})});
  const std::uint32_t difference = plan.op("model.subtract", {a, b}, {2, 6}),
                      reverse = plan.op("model.subtract", {b, a}, {2, 6});
  for (const auto &[one, two] : pairs)
    EXPECT_EQ(rootOf(one), rootOf(two));
  EXPECT_NE(rootOf(difference), rootOf(reverse));
}

/// A sum of elements in another order, or of a part, is another one.
TEST_F(NumberingTest, SumsOfViewsAreNotThoseOfTheirOperands) {
  const std::uint32_t a = plan.input("a", {4, 4}), b = plan.input("b", {4, 4}),
                      turned = plan.op("model.transpose", {a}, {4, 4}, {list("permutation", {1, 0})}),
                      ofSquares = plan.op("model.add", {a, b}, {4, 4}),
                      ofTurned = plan.op("model.add", {turned, b}, {4, 4}), sum = plan.op("model.add", {x, y}, {4, 6});
  const auto rows = [&](std::uint32_t of) {
    return plan.op("model.slice", {of}, {2, 6}, {list("start", {0, 0}), list("limit", {2, 6})});
  };
  const std::uint32_t ofRows = plan.op("model.add", {rows(x), rows(y)}, {2, 6});
  EXPECT_NE(rootOf(ofTurned), rootOf(ofSquares));
  EXPECT_NE(rootOf(ofRows), rootOf(sum));
}

/// A view of a value that nothing defines is equal to nothing.
TEST_F(NumberingTest, ViewsOfUndefinedScalarsAreDifferent) {
  const std::uint32_t undefined = plan.value({}), reshaped = plan.op("model.reshape", {undefined}, {}),
                      again = plan.op("model.reshape", {undefined}, {});
  EXPECT_NE(rootOf(reshaped), 0u);
  EXPECT_NE(rootOf(reshaped), rootOf(again));
}

TEST_F(NumberingTest, OnlyScalarsOfTheStepAreEqualOnAllRanks) {
  std::map<std::string, std::uint32_t> inputs;
  for (const char *name : {"lr", "step", "seed", "loss_scale", "rows"})
    inputs[name] = plan.input(name, {});
  for (const auto &[name, id] : inputs) {
    const RootId root = rootOf(id);
    EXPECT_EQ(numbering->root(root).varies, name == "rows") << name;
  }
}

TEST(NumberingOfKinds, AFlagIsSetIfItIsNotZero) {
  plan::ProgramKindT kind;
  EXPECT_FALSE(isFlagSet(kind, "causal"));
  kind.attributes.push_back(std::make_unique<plan::AttributeT>(integer("causal", 0)));
  EXPECT_FALSE(isFlagSet(kind, "causal"));
  kind.attributes[0]->integer = 1;
  EXPECT_TRUE(isFlagSet(kind, "causal"));
}

class NumberingOfRanks : public NumberingTest {
protected:
  NumberingOfRanks() : NumberingTest(2) {}
};

TEST_F(NumberingOfRanks, GathersOfRowsHaveTheRowsOfAllRanks) {
  const std::uint32_t rows = plan.op("model.all_gather", {x}, {8, 6}),
                      wrong = plan.op("model.all_gather", {y}, {4, 12}),
                      two = plan.op("model.all_gather", {x, y}, {8, 6}),
                      scalar = plan.op("model.all_gather", {plan.input("s", {})}, {2}),
                      ofOneRank = plan.op("model.all_gather", {x}, {4, 6});
  EXPECT_NE(rootOf(ofOneRank), rootOf(x));
  EXPECT_EQ(valueOf(rows).at, (Indexing{0, {{{2, 24}, {4, 6}}, {{6, 1}}}}));
  EXPECT_EQ(numbering->root(rootOf(x)).ofAllRanks, rootOf(rows));
  EXPECT_EQ(numbering->root(rootOf(rows)).elements, 48);
  EXPECT_NE(numbering->root(rootOf(y)).ofAllRanks, rootOf(wrong));
  EXPECT_NE(rootOf(two), rootOf(rows));
  EXPECT_EQ(valueOf(scalar).at, denseIndexing(Shape{2}));
}

TEST_F(NumberingOfRanks, ScattersOfSumsHaveAPartForEachRank) {
  const std::uint32_t part = plan.op("model.reduce_scatter", {x}, {2, 6}),
                      same = plan.op("model.reduce_scatter", {x}, {2, 6}),
                      wrong = plan.op("model.reduce_scatter", {y}, {3, 6});
  EXPECT_EQ(rootOf(part), rootOf(same));
  ASSERT_EQ(numbering->root(rootOf(x)).rankParts.size(), 1u);
  EXPECT_EQ(numbering->root(rootOf(x)).rankParts[0].part, rootOf(part));
  EXPECT_TRUE(numbering->root(rootOf(y)).rankParts.empty());
  EXPECT_NE(rootOf(wrong), 0u);
}

} // namespace
} // namespace sluice::check::proof
