//===- Silu.cpp - silu, alone and as a gate -----------------------------------------------===//

#include "dialect/model/Patterns.h"
#include "dialect/model/ops/Helpers.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

FailureOrValues SiluOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{SiluGradOp::create(builder, cotangents[0], getX())};
}

FailureOrValues SwigluOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  auto grad = SwigluGradOp::create(builder, cotangents[0], getGate(), getUp());
  return SmallVector<Value>(grad->getResults());
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

// x / (1 + exp(-x)), in the type of statistics
static Value makeSilu(ImplicitLocOpBuilder &builder, Value operand) {
  Type element = statisticsElement(elementOf(operand));
  Value x = makeCast(builder, operand, element);
  Value one = makeConstant(builder, 1, tensorOf({}, element));
  Value power = ExpOp::create(builder, NegateOp::create(builder, x).getResult());
  Value sum = AddOp::create(builder, power, one);
  return DivideOp::create(builder, x, sum);
}

FailureOrValues SiluOp::decompose(ImplicitLocOpBuilder &builder) {
  return SmallVector<Value>{makeCast(builder, makeSilu(builder, getX()), elementOf(getX()))};
}

FailureOrValues SwigluOp::decompose(ImplicitLocOpBuilder &builder) {
  Value gate = makeSilu(builder, getGate());
  Value up = makeCast(builder, getUp(), elementOf(gate));
  Value product = MultiplyOp::create(builder, gate, up);
  return SmallVector<Value>{makeCast(builder, product, elementOf(getGate()))};
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

namespace {
/// multiply(silu(gate), up) ==> swiglu(gate, up)
struct FuseGate : OpRewritePattern<MultiplyOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MultiplyOp product, PatternRewriter &rewriter) const override {
    for (unsigned side = 0; side < 2; ++side) {
      auto silu = product.getOperand(side).getDefiningOp<SiluOp>();
      Value up = product.getOperand(1 - side);
      if (!silu || !silu->hasOneUse() || !sharesScope(silu, product) || !typeAgrees(silu.getType(), up.getType()))
        continue;
      auto fused = SwigluOp::create(rewriter, rewriter.getFusedLoc({silu.getLoc(), product.getLoc()}), silu.getX(), up);
      fused->setDiscardableAttrs(llvm::to_vector(product->getDiscardableAttrs()));
      rewriter.replaceOp(product, fused);
      rewriter.eraseOp(silu);
      return success();
    }
    return failure();
  }
};
} // namespace

void populateGateFusionPatterns(RewritePatternSet &patterns) { patterns.add<FuseGate>(patterns.getContext()); }

} // namespace sluice::model
