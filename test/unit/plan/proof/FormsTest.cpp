//===- FormsTest.cpp - forms of ops of any program (P9) ------------------------------------===//
#include "runtime/plan/check/proof/Numbering.h"
#include "test/unit/plan/proof/ProofPlan.h"

#include <gtest/gtest.h>

namespace sluice::check::proof {
namespace {

using test::Ids;
using test::ProofPlan;

/// An op with operands, results or shapes that its form does not have is numbered without the form.
TEST(Forms, OpsOfOtherOperandsHaveNoForm) {
  for (const char *name :
       {"model.matmul", "model.matmul_gelu", "model.matmul_gelu_grad", "model.attention", "model.attention_grad",
        "model.cross_entropy", "model.linear_cross_entropy", "model.linear_cross_entropy_grad", "model.logsumexp"})
    for (std::size_t operands = 0; operands <= 9; ++operands)
      for (std::size_t results = 0; results <= 5; ++results)
        for (std::size_t rank = 0; rank <= 4; ++rank) {
          SCOPED_TRACE(testing::Message() << name << " of " << operands << ", " << results << " of rank " << rank);
          // Forms are those of ops whose dims a model-parallel axis divides.
          ProofPlan plan({{"shard", 1}, {"tensor", 2}});
          Ids in, out;
          for (std::size_t k = 0; k < operands; ++k)
            in.push_back(plan.input("x" + std::to_string(k), Shape(k == 1 ? 4 : rank, 2)));
          for (std::size_t k = 0; k < results; ++k)
            out.push_back(plan.value(Shape(rank, 2)));
          plan.define(name, in, out);
          plan.end();
          const Numbering numbering(plan.plan);
          for (std::uint32_t id : out)
            EXPECT_NE(numbering.value(id).root, 0u);
        }
}

/// The values of a program of an attention with q [2, 2, heads, 2], after its form was added.
std::size_t valuesOfAttention(const Shape &q, const Shape &k, const Shape &v) {
  ProofPlan plan({{"shard", 1}, {"tensor", 2}});
  const Ids in{plan.input("q", q), plan.input("k", k), plan.input("v", v)};
  plan.define("model.attention", in, {plan.value(q), plan.value({2, 2, 2})});
  plan.end();
  return Numbering(plan.plan).valueCount();
}

/// The same of a gradient with a bias and its gradient.
TEST(Forms, GradientsOfBiasesHaveForms) {
  const auto valuesOf = [](std::int64_t keyHeads) {
    ProofPlan plan({{"shard", 1}, {"tensor", 2}});
    const Shape q{2, 2, 4, 2}, k{2, 2, keyHeads, 2}, bias{1, 4, 2, 2};
    const Ids in{plan.input("dout", q), plan.input("q", q),           plan.input("k", k),      plan.input("v", k),
                 plan.input("out", q),  plan.input("lse", {2, 4, 2}), plan.input("bias", bias)};
    const Ids out{plan.value(q), plan.value(k), plan.value(k), plan.value(bias)};
    plan.define("model.attention_grad", in, out, {test::integer("biased", 1), test::integer("bias_grad", 1)});
    plan.end();
    const Numbering numbering(plan.plan);
    for (std::uint32_t id : out)
      EXPECT_NE(numbering.value(id).root, 0u);
    return numbering.valueCount();
  };
  EXPECT_GT(valuesOf(2), valuesOf(4));
}

TEST(Forms, OnlyGroupedHeadsAreRepeated) {
  const std::size_t none = valuesOfAttention({2, 2, 4, 2}, {2, 2, 4, 2}, {2, 2, 4, 2});
  EXPECT_GT(valuesOfAttention({2, 2, 4, 2}, {2, 2, 2, 2}, {2, 2, 2, 2}), none);
  const Shape several{2, 2, 4, 2}, one{2, 2, 2, 2};
  struct {
    Shape q, k, v;
  } others[] = {{{2, 2}, one, one},
                {{2, 2, 4}, one, one},
                {several, {2, 2}, one},
                {several, {2, 2, 2}, one},
                {several, one, {2, 2}},
                {several, one, {2, 2, 2}},
                {several, {2, 2, 0, 2}, {2, 2, 0, 2}},
                {several, {2, 2, 3, 2}, {2, 2, 3, 2}},
                {several, one, {2, 2, 4, 2}}};
  for (const auto &[q, k, v] : others)
    EXPECT_EQ(valuesOfAttention(q, k, v), none)
        << testing::PrintToString(q) << testing::PrintToString(k) << testing::PrintToString(v);
}

} // namespace
} // namespace sluice::check::proof
