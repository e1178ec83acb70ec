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

/// A chunked loss of x [3, 2] and weight [5, 2], and its gradients.
class ChunkedLossAndGradients : public ProofPlan {
public:
  static constexpr auto i32 = plan::DType::i32;
  plan::LaunchT *fused = nullptr;

  ChunkedLossAndGradients() : ProofPlan({{"shard", 2}}) {
    const std::vector<plan::AttributeT> attributes{text("reduction", "sum"), integer("ignore_index", -100),
                                                   integer("rows", 2)};
    const Ids in{input("x", {3, 2}), input("weight", {5, 2}), input("targets", {3}, i32), input("dloss", {})};
    const Ids ofLoss{value({}), value({3})}, gradients{value({3, 2}), value({5, 2})};
    define("model.linear_cross_entropy", {in[0], in[1], in[2]}, ofLoss, attributes);
    define("model.linear_cross_entropy_grad", {in[3], in[0], in[1], in[2], ofLoss[1]}, gradients, attributes);
    end({ofLoss[0], gradients[0], gradients[1]});
    std::vector<std::uint32_t> buffers;
    plan::EntryT &entry = step();
    for (auto [name, shape, dtype] :
         {std::tuple("x", Shape{3, 2}, f32), {"weight", {5, 2}, f32}, {"targets", {3}, i32}, {"dloss", {}, f32}}) {
      buffers.push_back(buffer(name, shape, dtype, host));
      port(entry.inputs, name, view(buffers.back()));
    }
    const std::uint32_t loss = buffer("loss", {}), lse = buffer("lse", {3}), dx = buffer("dx", {3, 2}),
                        dweight = buffer("dweight", {5, 2});
    fused = &compute(
        "linear_cross_entropy_and_grad", {view(buffers[0]), view(buffers[1]), view(buffers[2]), view(buffers[3])},
        {view(loss), view(lse), view(dx), view(dweight)}, in, {ofLoss[0], ofLoss[1], gradients[0], gradients[1]},
        {integer("reduction", 1), integer("ignore_index", -100), integer("rows", 2)});
    port(entry.outputs, "loss", view(loss));
    port(entry.outputs, "dx", view(dx));
    port(entry.outputs, "dweight", view(dweight));
  }
};

TEST(LossProof, OneLaunchComputesAChunkedLossAndItsGradients) {
  EXPECT_EQ(proofOf(ChunkedLossAndGradients()), "");

  ChunkedLossAndGradients mean;
  mean.fused->attributes[0]->integer = 0;
  expectText(proofOf(mean), "P9", "expected 'reduction' = 1 but got 0");

  ChunkedLossAndGradients exchanged;
  std::swap(exchanged.fused->inputs[0]->buffer, exchanged.fused->inputs[1]->buffer);
  EXPECT_NE(proofOf(exchanged), "");
}

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
