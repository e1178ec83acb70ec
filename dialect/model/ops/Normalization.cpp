//===- Normalization.cpp - norms ------------------------------------------------------===//

#include "dialect/model/Patterns.h"
#include "dialect/model/ops/Helpers.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Scales and biases
//===----------------------------------------------------------------------===//

bool LayerNormOp::isScaleOrBias(OpOperand &operand) { return operand.getOperandNumber() > 0; }

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

FailureOrValues LayerNormOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  if (cotangents[1] || cotangents[2])
    return emitOpError("has no derivative through its mean and rstd, expected a use of y only");
  Type vector = getWeight().getType();
  auto grad = LayerNormGradOp::create(builder, TypeRange{getX().getType(), vector, vector}, cotangents[0], getX(),
                                      getWeight(), getMean(), getRstd(), /*addend=*/Value());
  return SmallVector<Value>(grad->getResults());
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

FailureOrValues LayerNormOp::decompose(ImplicitLocOpBuilder &builder) {
  ArrayRef<int64_t> rows = shapeOf(getX()).drop_back();
  auto last = builder.getDenseI64ArrayAttr({static_cast<int64_t>(rows.size())});
  auto meanOf = [&](Value value) -> Value { return ReduceMeanOp::create(builder, value, last, builder.getUnitAttr()); };
  Value x = makeCast(builder, getX(), statisticsElement(elementOf(getX())));
  Value mean = meanOf(x);
  Value centred = SubtractOp::create(builder, x, mean);
  Value variance = meanOf(MultiplyOp::create(builder, centred, centred));
  auto [y, rstd] = makeNormalized(builder, centred, variance, getEpsilon(), getWeight(), getBias());
  return SmallVector<Value>{y, makeReshape(builder, mean, rows), makeReshape(builder, rstd, rows)};
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Per element: mean 1, variance 3, normalize 2, weight and bias 2.
OpCost LayerNormOp::getCost() { return streamingCost(*this, 8 * elementsOf(getX())); }
// Per element: normalized x 2, dweight 2, dbias 1, the two row sums 4, dx 5.
OpCost LayerNormGradOp::getCost() { return streamingCost(*this, (getAddend() ? 15 : 14) * elementsOf(getX())); }

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

namespace {

/// add(r, dx), with dx of the gradient of a norm and r defined before it ==> dx of the gradient with r as addend.
template <typename GradOp> struct FuseIntoNormGradient : OpRewritePattern<AddOp> {
  using OpRewritePattern<AddOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp add, PatternRewriter &rewriter) const override {
    if (!isOfPhase(add, Phase::backward))
      return failure();
    for (unsigned side = 0; side < 2; ++side) {
      Value dx = add.getOperand(side), other = add.getOperand(1 - side);
      auto gradient = dx.getDefiningOp<GradOp>();
      if (!gradient || dx != gradient.getDx() || !dx.hasOneUse() || gradient.getAddend() ||
          !sharesScope(gradient, add) || !typeAgrees(other.getType(), dx.getType()) ||
          !typeAgrees(add.getType(), dx.getType()) || !isBefore(other, gradient))
        continue;
      rewriter.modifyOpInPlace(gradient, [&] {
        gradient.getAddendMutable().assign(other);
        gradient->setLoc(rewriter.getFusedLoc({gradient.getLoc(), add.getLoc()}));
      });
      rewriter.replaceOp(add, dx);
      return success();
    }
    return failure();
  }
};

} // namespace

void populateNormFusionPatterns(RewritePatternSet &patterns) {
  patterns.add<FuseIntoNormGradient<LayerNormGradOp>, FuseIntoNormGradient<RmsNormGradOp>>(patterns.getContext());
}

} // namespace sluice::model
