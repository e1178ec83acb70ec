//===- Silu.cpp - silu, alone and as a gate -----------------------------------------------===//

#include "dialect/model/Patterns.h"
#include "dialect/model/ops/Helpers.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult SiluOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  return inferSame(adaptor.getX(), types);
}

// silu_grad_c1
LogicalResult SiluGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  return inferSame(adaptor.getX(), types);
}

// swiglu_c1
LogicalResult SwigluOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  return inferSame(adaptor.getGate(), types);
}

LogicalResult SwigluGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  types.append({adaptor.getGate().getType(), adaptor.getGate().getType()});
  return success();
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

LogicalResult SiluOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                               SmallVectorImpl<Value> &gradients) {
  gradients.push_back(SiluGradOp::create(builder, getLoc(), cotangents[0], getX()));
  return success();
}

LogicalResult SwigluOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                 SmallVectorImpl<Value> &gradients) {
  auto grad = SwigluGradOp::create(builder, getLoc(), cotangents[0], getGate(), getUp());
  gradients.append(grad->result_begin(), grad->result_end());
  return success();
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

// x / (1 + exp(-x)), in the type of statistics
static Value makeSilu(OpBuilder &builder, Location location, Value operand) {
  Type element = statisticsElement(elementOf(operand));
  Value x = makeCast(builder, location, operand, element);
  Value one = makeConstant(builder, location, 1, tensorOf({}, element));
  Value power = ExpOp::create(builder, location, NegateOp::create(builder, location, x).getResult());
  Value sum = AddOp::create(builder, location, power, one);
  return DivideOp::create(builder, location, x, sum);
}

FailureOr<SmallVector<Value>> SiluOp::decompose(OpBuilder &builder) {
  return SmallVector<Value>{makeCast(builder, getLoc(), makeSilu(builder, getLoc(), getX()), elementOf(getX()))};
}

FailureOr<SmallVector<Value>> SwigluOp::decompose(OpBuilder &builder) {
  Value gate = makeSilu(builder, getLoc(), getGate());
  Value up = makeCast(builder, getLoc(), getUp(), elementOf(gate));
  Value product = MultiplyOp::create(builder, getLoc(), gate, up);
  return SmallVector<Value>{makeCast(builder, getLoc(), product, elementOf(getGate()))};
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

ShardingRule SiluOp::getShardingRule() { return pointwiseRule(*this); }
ShardingRule SiluGradOp::getShardingRule() { return pointwiseRule(*this); }
ShardingRule SwigluOp::getShardingRule() { return pointwiseRule(*this); }
ShardingRule SwigluGradOp::getShardingRule() { return pointwiseRule(*this); }

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// silu: negate, exp, add, divide. Its slope s (1 + x (1 - s)) with s = 1 / (1 + exp(-x)): four for s, three more.
OpCost SiluOp::getCost() { return pointwiseCost(*this, 4); }
OpCost SiluGradOp::getCost() { return pointwiseCost(*this, 8); }
OpCost SwigluOp::getCost() { return pointwiseCost(*this, 5); }
OpCost SwigluGradOp::getCost() { return pointwiseCost(*this, 11); }

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

KernelCall SiluOp::getKernelCall() { return makeCall(*this, KernelId::silu); }
KernelCall SiluGradOp::getKernelCall() { return makeCall(*this, KernelId::silu_grad); }
KernelCall SwigluOp::getKernelCall() { return makeCall(*this, KernelId::swiglu); }

// Each element of the three operands is read before either gradient is written.
KernelCall SwigluGradOp::getKernelCall() { return makeCall(*this, KernelId::swiglu_grad); }

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
