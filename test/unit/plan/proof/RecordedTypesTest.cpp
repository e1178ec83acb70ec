//===- RecordedTypesTest.cpp - types of the declared state and of the program (P15) --------===//
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::test {
namespace {

/// A parameter and a variable in f32, which the program reads in these types, and does not write.
std::string stateOf(plan::DType parameter, plan::DType variable) {
  ProofPlan plan;
  plan.unit("u");
  plan.parameter("w", {4}, {}, plan.buffer("w", {4}));
  plan.buffer("v", {4});
  plan.plan.buffers[1]->class_ = plan::BufferClass::state;
  plan.plan.variables.push_back(std::make_unique<plan::VariableT>());
  plan.plan.variables[0]->name = "v";
  plan.plan.variables[0]->buffer = 1;
  plan.op("model.read", {}, {4}, {}, "w", parameter);
  plan.op("model.read", {}, {4}, {}, "v", variable);
  plan.end();
  check::Findings findings;
  const check::Verdict refusal = check::stateIsComplete(plan.plan, findings);
  return refusal ? refusal->message : "";
}

/// The step may compute with a parameter in another type than that in which it is kept.
TEST(RecordedTypes, OnlyAParameterIsReadInAnotherType) {
  EXPECT_EQ(stateOf(f32, f32), "");
  EXPECT_EQ(stateOf(plan::DType::bf16, f32), "");
  EXPECT_EQ(stateOf(f32, plan::DType::bf16), "'v', expected bf16[4] as in the unsharded program but got f32[4]");
}

} // namespace
} // namespace sluice::test
