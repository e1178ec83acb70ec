//===- LinearLoss.cpp - the output projection and its loss, in chunks of rows -------===//

#include "dialect/model/Patterns.h"
#include "dialect/model/SavedTensors.h"
#include "dialect/model/ops/Helpers.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

FailureOrValues LinearCrossEntropyOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  if (cotangents[1])
    return emitOpError("has no derivative through its lse, expected a use of the loss only");
  auto grad = LinearCrossEntropyGradOp::create(
      builder, TypeRange{getX().getType(), getWeight().getType()}, cotangents[0], getX(), getWeight(), getTargets(),
      getLse(), getRowsAttr(), getReductionAttr(), getIgnoreIndexAttr(), getLabelSmoothingAttr());
  return SmallVector<Value>{grad.getDx(), grad.getDweight(), Value()};
}

//===----------------------------------------------------------------------===//
// Mean
//===----------------------------------------------------------------------===//

FailureOr<std::pair<Value, Value>> LinearCrossEntropyOp::buildSumAndCount(ImplicitLocOpBuilder &builder) {
  return makeSumAndCount(builder, *this);
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

FailureOrValues LinearCrossEntropyOp::decompose(ImplicitLocOpBuilder &builder) {
  Value logits = MatmulOp::create(builder, getX(), getWeight(), false, true);
  auto loss = CrossEntropyOp::create(builder, logits, getTargets(), getReductionAttr(), getIgnoreIndexAttr(),
                                     getLabelSmoothingAttr());
  return SmallVector<Value>{loss.getLoss(), loss.getLse()};
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

// If the classes are split, a rank has few logits and computes all rows at once.
FailureOrValues LinearCrossEntropyOp::buildShardableForm(ImplicitLocOpBuilder &builder) { return decompose(builder); }

FailureOrValues LinearCrossEntropyGradOp::buildShardableForm(ImplicitLocOpBuilder &builder) {
  Value logits = MatmulOp::create(builder, getX(), getWeight(), false, true);
  Value dlogits = CrossEntropyGradOp::create(builder, getDloss(), logits, getTargets(), getLse(), getReductionAttr(),
                                             getIgnoreIndexAttr(), getLabelSmoothingAttr());
  Value dx = MatmulOp::create(builder, dlogits, getWeight());
  auto rows = static_cast<int64_t>(elementsOf(getTargets()));
  auto byRows = [&](Value value) { return makeReshape(builder, value, {rows, shapeOf(value).back()}); };
  const Type element = elementOf(getDweight());
  Value dweight = MatmulOp::create(builder, byRows(dlogits), byRows(getX()), Value(), Value(), true, false,
                                   element == elementOf(getX()) ? TypeAttr() : TypeAttr::get(element));
  return SmallVector<Value>{dx, dweight};
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// `products` products of all rows with the weight, and `each` operations for each logit.
template <typename OpT> static OpCost linearCost(OpT op, uint64_t products, uint64_t each) {
  uint64_t logits = elementsOf(op.getTargets()) * static_cast<uint64_t>(shapeOf(op.getWeight()).front());
  return streamingCost(op, logits * (2 * products * static_cast<uint64_t>(shapeOf(op.getX()).back()) + each));
}

OpCost LinearCrossEntropyOp::getCost() { return linearCost(*this, 1, 4); }
// The logits again, and the two products of their gradient.
OpCost LinearCrossEntropyGradOp::getCost() { return linearCost(*this, 3, 3); }

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

namespace {

/// cross_entropy(matmul(x, weight^T), targets) ==> linear_cross_entropy(x, weight, targets), if no other op reads
/// the logits or the row statistics.
struct ChunkLoss : OpRewritePattern<CrossEntropyOp> {
  ChunkLoss(MLIRContext *context, int64_t rows, unsigned &fusions)
      : OpRewritePattern(context), rows(rows), fusions(fusions) {}
  int64_t rows;
  unsigned &fusions;

  LogicalResult matchAndRewrite(CrossEntropyOp loss, PatternRewriter &rewriter) const override {
    auto product = loss.getLogits().getDefiningOp<MatmulOp>();
    if (!product || !product->hasOneUse() || !loss.getLse().use_empty() || !sharesScope(product, loss) ||
        product.getTransposeLhs() || !product.getTransposeRhs() || product.getBias() || product.getResidual() ||
        typeOf(product.getRhs()).getRank() != 2 || elementOf(product.getResult()) != elementOf(product.getLhs()))
      return failure();
    auto fused = LinearCrossEntropyOp::create(rewriter, rewriter.getFusedLoc({product.getLoc(), loss.getLoc()}),
                                              product.getLhs(), product.getRhs(), loss.getTargets(),
                                              rewriter.getI64IntegerAttr(rows), loss.getReductionAttr(),
                                              loss.getIgnoreIndexAttr(), loss.getLabelSmoothingAttr());
    setFusedAttributes(fused, {product, loss});
    rewriter.replaceOp(loss, fused);
    rewriter.eraseOp(product);
    ++fusions;
    return success();
  }
};

} // namespace

void populateChunkPatterns(RewritePatternSet &patterns, int64_t rows, unsigned &fusions) {
  patterns.add<ChunkLoss>(patterns.getContext(), rows, fusions);
}

} // namespace sluice::model
