//===- MatmulGelu.cpp - matrix products followed by gelu ------------------------------------===//
//
// A matrix product with GELU as epilogue, as libraries have it. The backward reads the input of GELU, so the op has
// both as results.
//
//===----------------------------------------------------------------------===//

#include "dialect/model/Patterns.h"
#include "dialect/model/SavedTensors.h"
#include "dialect/model/ops/ProductRules.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace sluice::model {

static constexpr GeluApproximation tanhForm = GeluApproximation::tanh;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

LogicalResult MatmulGeluOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  return inferProduct(location, KernelId::matmul_gelu, productOf(adaptor), elementOf(adaptor.getLhs()), types);
}

LogicalResult MatmulGeluGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  return inferProduct(location, KernelId::matmul, productOf(adaptor), elementOf(adaptor.getLhs()), types);
}

//===----------------------------------------------------------------------===//
// Scales and biases
//===----------------------------------------------------------------------===//

bool MatmulGeluOp::isScaleOrBias(OpOperand &operand) { return operand.getOperandNumber() == 2; }

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

// The cotangent of `pre` plus gelu_grad of that of y; then as matmul.
FailureOrValues MatmulGeluOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value dpre = cotangents[0];
  if (cotangents[1]) {
    Value slope = GeluGradOp::create(builder, cotangents[1], getPre(), tanhForm);
    dpre = dpre ? AddOp::create(builder, dpre, slope).getResult() : slope;
  }
  return makeProductGradients(builder, productOf(*this), dpre);
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

FailureOrValues MatmulGeluOp::decompose(ImplicitLocOpBuilder &builder) {
  Value pre = MatmulOp::create(builder, getLhs(), getRhs(), getBias(), /*residual=*/Value(), getTransposeLhs(),
                               getTransposeRhs(), /*output=*/TypeAttr());
  Value y = GeluOp::create(builder, pre, tanhForm);
  return SmallVector<Value>{pre, y};
}

FailureOrValues MatmulGeluGradOp::decompose(ImplicitLocOpBuilder &builder) {
  Value dy = MatmulOp::create(builder, getLhs(), getRhs(), getTransposeLhs(), getTransposeRhs());
  Value dpre = GeluGradOp::create(builder, dy, getPre(), tanhForm);
  return SmallVector<Value>{dpre};
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

FailureOrValues MatmulGeluOp::buildShardableForm(ImplicitLocOpBuilder &builder) { return decompose(builder); }
FailureOrValues MatmulGeluGradOp::buildShardableForm(ImplicitLocOpBuilder &builder) { return decompose(builder); }

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// The product's and gelu's, or its derivative's.
OpCost MatmulGeluOp::getCost() {
  return streamingCost(*this, productFlops(productOf(*this), getPre()) + 9 * elementsOf(getPre()));
}

OpCost MatmulGeluGradOp::getCost() {
  return streamingCost(*this, productFlops(productOf(*this), getDpre()) + 18 * elementsOf(getDpre()));
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

KernelCall MatmulGeluOp::getKernelCall() {
  return makeCall(*this, KernelId::matmul_gelu,
                  {integerAttribute(*this, "transpose_a", getTransposeLhs()),
                   integerAttribute(*this, "transpose_b", getTransposeRhs()),
                   integerAttribute(*this, "bias", getBias() != nullptr)});
}

KernelCall MatmulGeluGradOp::getKernelCall() {
  return makeCall(*this, KernelId::matmul_gelu_grad,
                  {integerAttribute(*this, "transpose_a", getTransposeLhs()),
                   integerAttribute(*this, "transpose_b", getTransposeRhs())});
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

namespace {

/// The product that defines `value`, of one element type, without residual, in the module of `op`; or null.
MatmulOp plainProduct(Value value, Operation *op) {
  auto product = value.getDefiningOp<MatmulOp>();
  bool fits = product && !product.getResidual() && elementOf(product.getResult()) == elementOf(product.getLhs()) &&
              sharesScope(product, op) && product->getAttr(invocationName) == op->getAttr(invocationName);
  return fits ? product : MatmulOp();
}

bool isBackward(Operation *op) { return isOfPhase(op, Phase::backward); }

/// gelu(matmul(a, b)) ==> matmul_gelu(a, b), where only gelu and its derivative read the product, and backward ops read
/// both results: the fusion keeps no additional value.
struct FuseGelu : OpRewritePattern<GeluOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GeluOp gelu, PatternRewriter &rewriter) const override {
    MatmulOp product = plainProduct(gelu.getX(), gelu);
    if (!product || gelu.getApproximate() != tanhForm || llvm::none_of(gelu->getUsers(), isBackward) ||
        !llvm::all_of(product->getUses(),
                      [&](OpOperand &use) {
                        return use.getOwner() == gelu ||
                               (isa<GeluGradOp>(use.getOwner()) && use.getOperandNumber() == 1);
                      }) ||
        llvm::none_of(product->getUsers(), isBackward))
      return failure();
    auto fused =
        MatmulGeluOp::create(rewriter, rewriter.getFusedLoc({product.getLoc(), gelu.getLoc()}), product.getLhs(),
                             product.getRhs(), product.getBias(), product.getTransposeLhs(), product.getTransposeRhs());
    setFusedAttributes(fused, {product, gelu});
    rewriter.replaceOp(gelu, fused.getY());
    rewriter.replaceOp(product, fused.getPre());
    return success();
  }
};

/// gelu_grad(matmul(a, b), x) ==> matmul_gelu_grad(a, b, x), if no other op reads the product. The op is
/// inserted at the product, so the weight is read no later.
struct FuseGeluGrad : OpRewritePattern<GeluGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GeluGradOp grad, PatternRewriter &rewriter) const override {
    MatmulOp product = plainProduct(grad.getDy(), grad);
    Operation *source = grad.getX().getDefiningOp();
    if (!product || product.getBias() || !product->hasOneUse() || grad.getApproximate() != tanhForm ||
        (source && (source->getBlock() != product->getBlock() || !source->isBeforeInBlock(product))))
      return failure();
    rewriter.setInsertionPoint(product);
    auto fused =
        MatmulGeluGradOp::create(rewriter, rewriter.getFusedLoc({product.getLoc(), grad.getLoc()}), product.getLhs(),
                                 product.getRhs(), grad.getX(), product.getTransposeLhs(), product.getTransposeRhs());
    setFusedAttributes(fused, {product, grad});
    rewriter.replaceOp(grad, fused.getDpre());
    rewriter.eraseOp(product);
    return success();
  }
};

} // namespace

void populateBackwardFusionPatterns(RewritePatternSet &patterns) {
  patterns.add<FuseGelu, FuseGeluGrad>(patterns.getContext());
}

} // namespace sluice::model
