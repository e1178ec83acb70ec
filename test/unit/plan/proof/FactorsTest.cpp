//===- FactorsTest.cpp - which ops have factors, and which attributes of kernels agree (P9) ---===//
//
// A program of a file may have any op with any operands: there is no rule for those that no model has. unit-rules
// compares the factors with the kernels.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/KernelRules.h"
#include "test/unit/plan/proof/ProofPlan.h"

#include <gtest/gtest.h>

namespace sluice::check::proof {
namespace {

using test::integer;
using test::list;
using test::number;
using test::text;
using Attributes = std::vector<plan::AttributeT>;

plan::ProgramKindT kindOf(const std::string &op, const Attributes &attributes = {}) {
  plan::ProgramKindT kind;
  kind.op = op;
  for (const plan::AttributeT &attribute : attributes)
    kind.attributes.push_back(std::make_unique<plan::AttributeT>(attribute));
  return kind;
}

struct Case {
  const char *name;
  const char *op;
  std::vector<Shape> operands, results;
  Attributes attributes = {};
};
void PrintTo(const Case &test, std::ostream *out) { *out << test.name; }
std::string nameOf(const testing::TestParamInfo<Case> &info) { return info.param.name; }

const Case withFactors[] = {
    {"Broadcast", "model.add", {{3}, {2, 3}}, {{2, 3}}},
    {"Product", "model.matmul", {{2, 3}, {3, 4}}, {{2, 4}}},
    {"ProductOfBatches", "model.matmul", {{5, 2, 3}, {3, 4}}, {{5, 2, 4}}},
    {"Sum", "model.reduce_sum", {{2, 3}}, {{2}}, {list("dims", {1})}},
    {"SumThatKeepsDims", "model.reduce_sum", {{2, 3}}, {{2, 1}}, {list("dims", {1})}},
    {"Softmax", "model.softmax", {{3}}, {{3}}},
    {"Heads", "model.attention", {{1, 2, 4, 8}, {1, 2, 2, 8}, {1, 2, 2, 8}}, {{1, 2, 4, 8}, {1, 4, 2}}},
    {"LookupOfScalars", "model.embedding", {{5}, {2, 3}}, {{2, 3}}},
    {"LookupOfRows", "model.embedding", {{5, 4}, {2, 3}}, {{2, 3, 4}}},
    {"GradientOfScalars", "model.embedding_grad", {{2, 3}, {2, 3}}, {{5}}},
    {"LastDim", "model.take_along", {{2, 3}, {2, 1}}, {{2, 1}}, {integer("dim", 1)}},
    {"Loss", "model.cross_entropy", {{3}, {}}, {{}, {}}},
    {"LinearLoss", "model.linear_cross_entropy", {{3}, {5, 3}, {}}, {{}, {}}},
    {"Concat", "model.concat", {{2, 3}, {2, 4}}, {{2, 7}}, {integer("dim", 1)}},
};

class HaveFactors : public testing::TestWithParam<Case> {};
TEST_P(HaveFactors, OfEachTensor) {
  const Case &test = GetParam();
  const auto factors = factorsOf(kindOf(test.op, test.attributes), test.operands, test.results);
  ASSERT_TRUE(factors);
  ASSERT_EQ(factors->operands.size(), test.operands.size());
  for (std::size_t k = 0; k < test.operands.size(); ++k)
    EXPECT_EQ(factors->operands[k].size(), test.operands[k].size());
  ASSERT_EQ(factors->results.size(), test.results.size());
  for (std::size_t r = 0; r < test.results.size(); ++r)
    EXPECT_EQ(factors->results[r].size(), test.results[r].size());
}
INSTANTIATE_TEST_SUITE_P(Factors, HaveFactors, testing::ValuesIn(withFactors), nameOf);

const Case withoutFactors[] = {
    {"NoResult", "model.add", {{3}}, {}},
    {"NoOperand", "model.matmul", {}, {{2, 4}}},
    {"OperandOfMoreDims", "model.add", {{2, 3}, {3}}, {{3}}},
    {"ResultOfMoreDims", "model.swiglu", {{3}, {3}}, {{3}, {2, 3}}},
    {"ProductOfOne", "model.matmul", {{2, 3}}, {{2, 3}}},
    {"ProductOfAVector", "model.matmul", {{3}, {3, 4}}, {{1, 4}}},
    {"ProductWithAVector", "model.matmul", {{2, 3}, {3}}, {{2, 1}}},
    {"ProductOfVectors", "model.matmul", {{3}, {3}}, {{1}}},
    {"ProductToAVector", "model.matmul", {{1, 3}, {3, 4}}, {{4}}},
    {"ProductOfMoreDims", "model.matmul", {{5, 2, 3}, {3, 4}}, {{2, 4}}},
    {"ProductWithMoreDims", "model.matmul", {{2, 3}, {5, 3, 4}}, {{2, 4}}},
    {"SumToMoreDims", "model.reduce_sum", {{2, 3}}, {{2, 3, 1}}, {list("dims", {1})}},
    {"NormOfAScalar", "model.softmax", {{}}, {{}}},
    {"QueriesOfThreeDims", "model.attention", {{1, 2, 4}, {1, 2, 2, 8}, {1, 2, 2, 8}}, {{1, 2, 4}, {1, 4, 2}}},
    {"KeysOfThreeDims", "model.attention", {{1, 2, 4, 8}, {1, 2, 2}, {1, 2, 2}}, {{1, 2, 4, 8}, {1, 4, 2}}},
    {"NoKeys", "model.attention", {{1, 2, 4, 8}, {1, 2, 0, 8}, {1, 2, 0, 8}}, {{1, 2, 4, 8}, {1, 4, 2}}},
    {"PartOfAHead", "model.attention", {{1, 2, 4, 8}, {1, 2, 3, 8}, {1, 2, 3, 8}}, {{1, 2, 4, 8}, {1, 4, 2}}},
    {"MoreIndicesThanResults", "model.embedding", {{}, {2, 3, 4}}, {{2, 3}}},
    {"TableOfOtherDims", "model.embedding", {{5, 4}, {2}}, {{2, 3, 4}}},
    {"MoreIndicesThanUpdates", "model.embedding_grad", {{2, 3}, {2, 3, 4}}, {{}}},
    {"GradientOfOtherDims", "model.embedding_grad", {{2, 3, 4}, {2}}, {{5, 4}}},
    {"IndicesOfOtherDims", "model.take_along", {{2, 3}, {2}}, {{2}}, {integer("dim", 1)}},
    {"AlongNoDim", "model.take_along", {{2, 3}, {2, 3}}, {{2, 3}}, {integer("dim", 2)}},
    {"LossOfAScalar", "model.cross_entropy", {{}, {}}, {{}, {}}},
    {"LinearLossOfAScalar", "model.linear_cross_entropy", {{}, {5, 3}, {}}, {{}, {}}},
    {"ConcatOfOtherDims", "model.concat", {{3}, {2, 3}}, {{2, 3}}, {integer("dim", 1)}},
    {"NoRule", "model.batch_norm", {{2, 3}}, {{2, 3}}},
};

class HaveNoFactors : public testing::TestWithParam<Case> {};
TEST_P(HaveNoFactors, WithTheseTensors) {
  const Case &test = GetParam();
  EXPECT_FALSE(factorsOf(kindOf(test.op, test.attributes), test.operands, test.results));
}
INSTANTIATE_TEST_SUITE_P(Factors, HaveNoFactors, testing::ValuesIn(withoutFactors), nameOf);

TEST(Factors, TheDimOfAConcatenationIsNotDivided) {
  const std::vector<Shape> operands{{2, 3}, {2, 4}}, results{{2, 7}};
  const auto factors = factorsOf(kindOf("model.concat", {integer("dim", 1)}), operands, results);
  ASSERT_TRUE(factors);
  EXPECT_GE(factors->results[0][0].factor, 0);
  EXPECT_EQ(factors->results[0][1].factor, fullDim);
}

TEST(Factors, OpsThatAreLinear) {
  for (const char *op : {"add", "subtract", "negate", "reduce_sum", "reduce_mean", "concat"})
    EXPECT_TRUE(isLinear(kindOf(std::string("model.") + op))) << op;
  for (const char *op : {"multiply", "reduce_max", "relu", "pad"})
    EXPECT_FALSE(isLinear(kindOf(std::string("model.") + op))) << op;
}

TEST(KernelRules, KindsOfOpsAndKernels) {
  EXPECT_TRUE(isPointwiseOp("model.exp"));
  EXPECT_FALSE(isPointwiseOp("model.softmax"));
  EXPECT_FALSE(isPointwiseOp("model.nothing"));
  for (const char *kernel : {"sgd", "adam", "adamw"})
    EXPECT_TRUE(isUpdateKernel(kernel)) << kernel;
  EXPECT_FALSE(isUpdateKernel("add"));
}

/// The attributes of a launch of the kernel, compared with those of the op.
std::string difference(const std::string &kernel, const Attributes &ofOp, const Attributes &ofLaunch) {
  plan::LaunchT launch;
  for (const plan::AttributeT &attribute : ofLaunch)
    launch.attributes.push_back(std::make_unique<plan::AttributeT>(attribute));
  return differingAttribute(kindOf("model." + kernel, ofOp), {}, kernel, launch);
}

TEST(KernelRules, AttributesDifferByPresenceAndValue) {
  EXPECT_EQ(difference("attention", {}, {}), "");
  EXPECT_EQ(difference("attention", {number("scale", 0.5)}, {number("scale", 0.5)}), "");
  EXPECT_NE(difference("attention", {number("scale", 0.5)}, {number("scale", 0.25)}), "");
  // The kernel computes an absent scale.
  EXPECT_NE(difference("attention", {}, {number("scale", 0)}), "");
  EXPECT_NE(difference("attention", {integer("window", 2)}, {integer("window", 3)}), "");
  EXPECT_NE(difference("attention", {integer("causal", 1)}, {}), "");
  EXPECT_NE(difference("reduce_sum", {list("dims", {0})}, {list("dims", {1})}), "");
  EXPECT_EQ(difference("reduce_sum", {list("dims", {0})}, {list("dims", {0})}), "");
  EXPECT_NE(difference("nothing", {}, {}), "");
}

/// The op has figures of both kinds of scaling; the kernel has those that its kind uses.
TEST(KernelRules, ScalingOfRope) {
  const auto op = [](const char *scaling) {
    return Attributes{number("theta", 1e4), text("scaling", scaling), number("factor", 4),
                      number("low", 3),     number("high", 5),        number("original", 7)};
  };
  const plan::AttributeT theta = number("theta", 1e4), factor = number("factor", 4);
  EXPECT_EQ(difference("rope", op("none"), {theta}), "");
  EXPECT_NE(difference("rope", op("none"), {theta, factor}), "");
  EXPECT_EQ(difference("rope", op("linear"), {theta, factor}), "");
  EXPECT_NE(difference("rope", op("linear"), {theta}), "");
  EXPECT_NE(difference("rope", op("linear"), {theta, factor, number("low", 3)}), "");
  EXPECT_EQ(
      difference("rope", op("llama3"), {theta, factor, number("low", 3), number("high", 5), number("original", 7)}),
      "");
  EXPECT_NE(difference("rope", op("llama3"), {theta, factor, number("low", 3), number("high", 5)}), "");
}

} // namespace
} // namespace sluice::check::proof
