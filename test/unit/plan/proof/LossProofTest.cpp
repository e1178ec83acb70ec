//===- LossProofTest.cpp - a loss and its gradient by one launch (P9) -------------------------===//
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::test {
namespace {

/// The loss of logits [3, 5], and their gradient in the memory of the logits.
class LossAndGradient : public ProofPlan {
public:
  static constexpr auto i32 = plan::DType::i32;
  std::uint32_t logits = buffer("logits", {3, 5}, f32, host), targets = buffer("targets", {3}, i32, host),
                dloss = buffer("dloss", {}, f32, host), x = buffer("x", {3, 5}), loss = buffer("loss", {}),
                lse = buffer("lse", {3});
  Ids ids;
  plan::LaunchT *fused = nullptr;

  /// `names`: whether the launch has the ids of the program. The reductions are those of the program's ops.
  explicit LossAndGradient(bool names = true, const char *ofLossOp = "sum", const char *ofGradientOp = "sum")
      : ProofPlan({{"shard", 2}}) {
    const auto attributes = [](const char *reduction) {
      return std::vector<plan::AttributeT>{text("reduction", reduction), integer("ignore_index", -100)};
    };
    const Ids in{input("logits", {3, 5}), input("targets", {3}, i32), input("dloss", {})};
    const std::uint32_t exp = op("model.exp", {in[0]}, {3, 5}), ofLoss = value({}), ofLse = value({3});
    define("model.cross_entropy", {exp, in[1]}, {ofLoss, ofLse}, attributes(ofLossOp));
    const std::uint32_t gradient =
        op("model.cross_entropy_grad", {in[2], exp, in[1], ofLse}, {3, 5}, attributes(ofGradientOp));
    end({ofLoss, gradient});
    plan::EntryT &entry = step();
    port(entry.inputs, "logits", view(logits));
    port(entry.inputs, "targets", view(targets));
    port(entry.inputs, "dloss", view(dloss));
    launch(0, "exp", {view(logits)}, {view(x)});
    const auto named = [&](Ids own) { return names ? own : Ids(); };
    fused = &compute("cross_entropy_and_grad", {view(x), view(targets), view(dloss)}, {view(loss), view(lse), view(x)},
                     named({exp, in[1], in[2]}), named({ofLoss, ofLse, gradient}),
                     {integer("reduction", 1), integer("ignore_index", -100)});
    port(entry.outputs, "loss", view(loss));
    port(entry.outputs, "dlogits", view(x));
  }
};

TEST(LossProof, OneLaunchComputesBothOps) {
  EXPECT_EQ(proofOf(LossAndGradient()), "");
  EXPECT_EQ(proofOf(LossAndGradient(/*names=*/false)), "");
}

TEST(LossProof, TheOperandsOfBothOpsAreCompared) {
  LossAndGradient otherLogits;
  otherLogits.fused->inputs[0]->buffer = otherLogits.logits;
  EXPECT_NE(proofOf(otherLogits), "");

  LossAndGradient otherSlope;
  otherSlope.fused->inputs[2]->buffer = otherSlope.loss;
  EXPECT_NE(proofOf(otherSlope), "");

  LossAndGradient mean;
  mean.fused->attributes[0]->integer = 0;
  expectText(proofOf(mean), "P9", "expected 'reduction' = 1 but got 0");

  // One of the ops is another one.
  expectText(proofOf(LossAndGradient(true, "mean", "sum")), "P9", "expected 'reduction' = 0 but got 1");
  expectText(proofOf(LossAndGradient(true, "sum", "mean")), "P9", "expected 'reduction' = 0 but got 1");

  // The loss and the log-sum-exp.
  LossAndGradient exchanged;
  std::swap(exchanged.fused->outputs[0], exchanged.fused->outputs[1]);
  EXPECT_NE(proofOf(exchanged), "");

  // The gradient is not the result of the other op.
  LossAndGradient elsewhere;
  elsewhere.fused->outputs[2]->buffer = elsewhere.buffer("y", {3, 5});
  expectText(proofOf(elsewhere), "P9", "output 'dlogits' of 'train_step' holds value 4 (model.exp)");
}

} // namespace
} // namespace sluice::test
