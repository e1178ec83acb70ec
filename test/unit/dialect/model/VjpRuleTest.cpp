//===- VjpRuleTest.cpp - types of derivatives, and inactive ops ------------------------------===//

#include "test/unit/dialect/model/Programs.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace sluice::model::test {
namespace {

/// Builds the derivative of `op` with ones for the results that `through` names.
FailureOr<SmallVector<Value>> build(VjpOpInterface op, ArrayRef<unsigned> through) {
  ImplicitLocOpBuilder builder(op->getLoc(), op->getContext());
  builder.setInsertionPointAfter(op);
  SmallVector<Value> cotangents(op->getNumResults());
  for (unsigned result : through)
    cotangents[result] = ConstantOp::create(builder, op->getResult(result).getType(), builder.getF64FloatAttr(1));
  return op.buildVjp(builder, cotangents);
}

// One gradient per operand, of the operand's type, in a program that verifies.
TEST(ModelVjp, GradientsHaveTheTypesOfTheirOperands) {
  Programs programs;
  auto module = programs.parseAll();
  SmallVector<VjpOpInterface> ops;
  module->walk([&](VjpOpInterface op) {
    if (op.isDifferentiable())
      ops.push_back(op);
  });
  ASSERT_GT(ops.size(), 30u);
  for (VjpOpInterface op : ops) {
    std::string name = op->getName().getStringRef().str();
    FailureOr<SmallVector<Value>> gradients = build(op, {0});
    ASSERT_TRUE(succeeded(gradients)) << name << programs.diagnostics;
    ASSERT_EQ(op->getNumOperands(), gradients->size()) << name;
    for (auto [operand, gradient] : llvm::zip(op->getOperands(), *gradients)) {
      bool isFloat = isa<FloatType>(cast<RankedTensorType>(operand.getType()).getElementType());
      EXPECT_EQ(isFloat && !op.stopsGradient(), gradient != nullptr) << name;
      if (gradient) {
        EXPECT_EQ(operand.getType(), gradient.getType()) << name;
      }
    }
  }
  EXPECT_TRUE(succeeded(verify(*module))) << programs.diagnostics;
}

TEST(ModelVjp, DifferentiatingAnInactiveOpIsAnError) {
  Programs programs;
  auto module = programs.parseAll();
  SmallVector<VjpOpInterface> ops;
  module->walk([&](VjpOpInterface op) {
    if (!op.isDifferentiable())
      ops.push_back(op);
  });
  ASSERT_GT(ops.size(), 10u);
  for (VjpOpInterface op : ops) {
    programs.diagnostics.clear();
    ImplicitLocOpBuilder builder(op->getLoc(), op);
    EXPECT_TRUE(failed(op.buildVjp(builder, {})));
    EXPECT_EQ("'" + op->getName().getStringRef().str() + "' op has no derivative\n", programs.diagnostics);
  }
}

// Statistics are saved only for the derivative.
TEST(ModelVjp, StatisticsHaveNoDerivative) {
  Programs programs;
  auto module = programs.parseAll();
  EXPECT_TRUE(failed(build(cast<VjpOpInterface>(*programs.first<LayerNormOp>(*module)), {1})));
  EXPECT_TRUE(failed(build(cast<VjpOpInterface>(*programs.first<AttentionOp>(*module)), {1})));
  EXPECT_TRUE(failed(build(cast<VjpOpInterface>(*programs.first<CrossEntropyOp>(*module)), {1})));
  EXPECT_TRUE(failed(build(cast<VjpOpInterface>(*programs.first<BatchNormOp>(*module)), {1})));
  EXPECT_TRUE(failed(build(cast<VjpOpInterface>(*programs.first<RmsNormOp>(*module)), {1})));
  EXPECT_EQ("'model.layer_norm' op has no derivative through its mean and rstd, expected a use of y only\n"
            "'model.attention' op has no derivative through its lse, expected a use of out only\n"
            "'model.cross_entropy' op has no derivative through its lse, expected a use of the loss only\n"
            "'model.batch_norm' op has no derivative through its mean and variance, expected a use of y only\n"
            "'model.rms_norm' op has no derivative through its rstd, expected a use of y only\n",
            programs.diagnostics);
}

// The gradient of a weight that all rows of the batch share is one product over all rows.
TEST(ModelVjp, SharedWeightHasOneProduct) {
  Programs programs;
  auto module = programs.parse("func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>) {\n"
                               "%0 = model.matmul %x, %w : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>\n"
                               "return }");
  FailureOr<SmallVector<Value>> gradients = build(cast<VjpOpInterface>(*programs.first<MatmulOp>(*module)), {0});
  ASSERT_TRUE(succeeded(gradients));
  auto product = (*gradients)[1].getDefiningOp<MatmulOp>();
  ASSERT_TRUE(product);
  EXPECT_EQ((ArrayRef<int64_t>{6, 4}), cast<RankedTensorType>(product.getLhs().getType()).getShape());
  EXPECT_TRUE(product.getTransposeLhs());
}

} // namespace
} // namespace sluice::model::test
