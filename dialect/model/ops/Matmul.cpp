//===- Matmul.cpp - matrix products -------------------------------------------------===//
//
// m, n, k are the extents of the product; leading dims are the batch.
//
//===----------------------------------------------------------------------===//

#include "dialect/model/Patterns.h"
#include "dialect/model/SavedTensors.h"
#include "dialect/model/ops/ProductRules.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

int64_t Product::inner() const {
  ArrayRef<int64_t> extents = shapeOf(lhs);
  return extents[extents.size() - (transposeLhs ? 2 : 1)];
}

LogicalResult inferProduct(std::optional<Location> location, KernelId kernel, const Product &product, Type element,
                           SmallVectorImpl<Type> &types) {
  Attributes attributes;
  attributes.add({"transpose_a", product.transposeLhs, 0, {}});
  attributes.add({"transpose_b", product.transposeRhs, 0, {}});
  const SmallVector<Type> results(kernelRecord(kernel).outputs.size(), element);
  return inferExtents(location, kernel, {product.lhs, product.rhs}, results, types, attributes);
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  return inferProduct(location, KernelId::matmul, productOf(adaptor),
                      adaptor.getOutput() ? *adaptor.getOutput() : elementOf(adaptor.getLhs()), types);
}

void MatmulOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs, bool transposeLhs,
                     bool transposeRhs) {
  build(builder, state, lhs, rhs, /*bias=*/Value(), /*residual=*/Value(), transposeLhs, transposeRhs,
        /*output=*/TypeAttr());
}

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

// Bias and residual have the operands' and the result's type.
LogicalResult MatmulOp::widenResult(unsigned, Type element) {
  if (getBias() || getResidual())
    return failure();
  setOutput(element);
  setElement(getResult(), element);
  return success();
}

//===----------------------------------------------------------------------===//
// Scales and biases
//===----------------------------------------------------------------------===//

bool MatmulOp::isScaleOrBias(OpOperand &operand) { return getBias() && operand.getOperandNumber() == 2; }

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

/// dA of C = op(A) op(B), before the sum over broadcast batch dims.
static Value lhsGradient(ImplicitLocOpBuilder &builder, Value dc, Value b, bool transposeA, bool transposeB) {
  if (!transposeA)
    return MatmulOp::create(builder, dc, b, false, !transposeB);
  return MatmulOp::create(builder, b, dc, transposeB, true);
}

/// dB of C = op(A) op(B), before the sum over broadcast batch dims.
static Value rhsGradient(ImplicitLocOpBuilder &builder, Value dc, Value a, bool transposeA, bool transposeB) {
  if (!transposeB)
    return MatmulOp::create(builder, a, dc, !transposeA, false);
  return MatmulOp::create(builder, dc, a, true, transposeA);
}

/// [..., m, k] to [batch * m, k].
static Value flattenRows(ImplicitLocOpBuilder &builder, Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  return makeReshape(builder, value, {computeProduct(shape.drop_back()), shape.back()});
}

SmallVector<Value> makeProductGradients(ImplicitLocOpBuilder &builder, const Product &product, Value cotangent) {
  Value a = product.lhs, b = product.rhs, dc = makeCast(builder, cotangent, elementOf(a));
  bool ta = product.transposeLhs, tb = product.transposeRhs;
  SmallVector<Value> gradients = {makeUnbroadcast(builder, lhsGradient(builder, dc, b, ta, tb), shapeOf(a))};
  if (typeOf(b).getRank() == 2 && !ta)
    // One product over all rows of the batch, instead of one for each followed by a sum.
    gradients.push_back(rhsGradient(builder, flattenRows(builder, dc), flattenRows(builder, a), false, tb));
  else
    gradients.push_back(makeUnbroadcast(builder, rhsGradient(builder, dc, a, ta, tb), shapeOf(b)));
  if (product.bias)
    gradients.push_back(
        makeCast(builder, makeUnbroadcast(builder, cotangent, shapeOf(product.bias)), elementOf(product.bias)));
  return gradients;
}

// dA = dC op(B)^T, dB = op(A)^T dC, dbias = dC summed over rows, dresidual = dC
FailureOrValues MatmulOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  SmallVector<Value> gradients = makeProductGradients(builder, productOf(*this), cotangents[0]);
  if (getResidual())
    gradients.push_back(cotangents[0]);
  return gradients;
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

// The product alone; bias and residual are added to it.
FailureOrValues MatmulOp::buildShardableForm(ImplicitLocOpBuilder &builder) {
  if (!getBias() && !getResidual())
    return failure();
  Value value = MatmulOp::create(builder, getLhs(), getRhs(), Value(), Value(), getTransposeLhs(), getTransposeRhs(),
                                 getOutputAttr());
  for (Value term : {getBias(), getResidual()})
    if (term)
      value = AddOp::create(builder, value, makeCast(builder, term, elementOf(value)));
  return SmallVector<Value>{value};
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

uint64_t productFlops(const Product &product, Value result) {
  uint64_t elements = elementsOf(result);
  return 2 * elements * static_cast<uint64_t>(product.inner()) + (product.bias ? elements : 0) +
         (product.residual ? elements : 0);
}

OpCost MatmulOp::getCost() { return streamingCost(*this, productFlops(productOf(*this), getResult())); }

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

KernelCall MatmulOp::getKernelCall() {
  return makeCall(*this, KernelId::matmul,
                  {integerAttribute(*this, "transpose_a", getTransposeLhs()),
                   integerAttribute(*this, "transpose_b", getTransposeRhs()),
                   integerAttribute(*this, "bias", getBias() != nullptr),
                   integerAttribute(*this, "residual", getResidual() != nullptr)});
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

namespace {

/// The product that defines `value`, if `value` has one use; else null.
MatmulOp soleProduct(Value value) {
  auto product = value.getDefiningOp<MatmulOp>();
  return product && value.hasOneUse() ? product : MatmulOp();
}

/// add(matmul(a, b), bias[n]) ==> matmul(a, b) bias(bias), and add(matmul(a, b) .., r) ==> matmul(a, b) .. residual(r)
/// where r has the product's shape; in either order of the operands. In the backward r is older than the product, which
/// stays in its place: its operands live no longer.
struct FuseIntoProduct : OpRewritePattern<AddOp> {
  FuseIntoProduct(MLIRContext *context, bool inBackward) : OpRewritePattern(context), inBackward(inBackward) {}
  const bool inBackward;
  LogicalResult matchAndRewrite(AddOp add, PatternRewriter &rewriter) const override {
    if (isOfPhase(add, Phase::backward) != inBackward)
      return failure();
    for (unsigned side = 0; side < 2; ++side) {
      MatmulOp product = soleProduct(add.getOperand(side));
      Value other = add.getOperand(1 - side);
      if (!product || product.getResidual() || !sharesScope(product, add) ||
          !typeAgrees(product.getType(), add.getType()) || (inBackward && !isBefore(other, product)))
        continue;
      Value bias = product.getBias(), residual;
      if (!bias && typeOf(other).getRank() == 1 && shapeOf(other).front() == shapeOf(product).back() &&
          elementOf(other) == elementOf(product.getLhs()))
        bias = other;
      else if (typeAgrees(other.getType(), product.getType()))
        residual = other;
      else
        continue;
      if (inBackward)
        rewriter.setInsertionPoint(product);
      auto fused = MatmulOp::create(rewriter, rewriter.getFusedLoc({product.getLoc(), add.getLoc()}), product.getLhs(),
                                    product.getRhs(), bias, residual, product.getTransposeLhs(),
                                    product.getTransposeRhs(), product.getOutputAttr());
      setFusedAttributes(fused, {product, add});
      rewriter.replaceOp(add, fused);
      rewriter.eraseOp(product);
      return success();
    }
    return failure();
  }
};

} // namespace

void populateMatmulFusionPatterns(RewritePatternSet &patterns, bool inBackward) {
  patterns.add<FuseIntoProduct>(patterns.getContext(), inBackward);
}

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

namespace {
/// reshape(reshape(x) w + bias) ==> x w + bias, where the reshapes join and separate the rows.
struct KeepRows : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp separate, PatternRewriter &rewriter) const override {
    auto sum = separate.getOperand().getDefiningOp<AddOp>();
    auto product = (sum ? sum.getLhs() : separate.getOperand()).getDefiningOp<MatmulOp>();
    auto joined = product ? product.getLhs().getDefiningOp<ReshapeOp>() : ReshapeOp();
    if (!joined || product.getTransposeLhs() || product.getBias() || product.getResidual() ||
        shapeOf(product.getRhs()).size() != 2 || !product->hasOneUse() ||
        (sum && (!sum->hasOneUse() || shapeOf(sum.getRhs()).size() != 1)))
      return failure();
    Value x = joined.getOperand();
    const bool fits = shapeOf(x).size() >= 2 && shapeOf(x).back() == shapeOf(product.getLhs()).back() &&
                      shapeOf(separate.getResult()).size() == shapeOf(x).size() &&
                      shapeOf(x).drop_back() == shapeOf(separate.getResult()).drop_back();
    if (!fits)
      return failure();
    Value result = MatmulOp::create(rewriter, product.getLoc(), x, product.getRhs(), false, product.getTransposeRhs());
    if (sum)
      result = AddOp::create(rewriter, sum.getLoc(), result, sum.getRhs());
    rewriter.replaceOp(separate, result);
    return success();
  }
};
} // namespace

void populateMatmulRecognitionPatterns(RewritePatternSet &patterns) { patterns.add<KeepRows>(patterns.getContext()); }

} // namespace sluice::model
