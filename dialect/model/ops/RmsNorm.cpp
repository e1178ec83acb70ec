//===- RmsNorm.cpp - RMS norm -----------------------------------------------------------===//

#include "dialect/model/Patterns.h"
#include "dialect/model/ops/Helpers.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Scales and biases
//===----------------------------------------------------------------------===//

bool RmsNormOp::isScaleOrBias(OpOperand &operand) { return operand.getOperandNumber() > 0; }

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

FailureOrValues RmsNormOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  if (cotangents[1])
    return emitOpError("has no derivative through its rstd, expected a use of y only");
  auto grad = RmsNormGradOp::create(builder, TypeRange{getX().getType(), getWeight().getType()}, cotangents[0], getX(),
                                    getWeight(), getRstd(), /*addend=*/Value());
  return SmallVector<Value>(grad->getResults());
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

FailureOrValues RmsNormOp::decompose(ImplicitLocOpBuilder &builder) {
  ArrayRef<int64_t> rows = shapeOf(getX()).drop_back();
  Value x = makeCast(builder, getX(), statisticsElement(elementOf(getX())));
  Value square = MultiplyOp::create(builder, x, x);
  Value mean = ReduceMeanOp::create(builder, square, builder.getDenseI64ArrayAttr({static_cast<int64_t>(rows.size())}),
                                    builder.getUnitAttr());
  auto [y, rstd] = makeNormalized(builder, x, mean, getEpsilon(), getWeight(), /*bias=*/Value());
  return SmallVector<Value>{y, makeReshape(builder, rstd, rows)};
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Per element: mean of squares 2, normalize 1, weight 1.
OpCost RmsNormOp::getCost() { return streamingCost(*this, 4 * elementsOf(getX())); }
// Per element: normalized x 1, dy weight 1, the row sum 2, dx 3, dweight 2.
OpCost RmsNormGradOp::getCost() { return streamingCost(*this, (getAddend() ? 10 : 9) * elementsOf(getX())); }

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

namespace {
/// x rsqrt(mean(x x) + epsilon) weight ==> rms_norm; a weight of ones where no vector multiplies it.
struct RecognizeRmsNorm : OpRewritePattern<MultiplyOp> {
  using OpRewritePattern::OpRewritePattern;

  /// The epsilon, if `scale` is rsqrt(mean(x x) + epsilon) over the last dim.
  static std::optional<double> epsilonOf(Value scale, Value x) {
    auto root = scale.getDefiningOp<RsqrtOp>();
    auto sum = root ? root.getOperand().getDefiningOp<AddOp>() : AddOp();
    for (unsigned side = 0; sum && side < 2; ++side) {
      auto mean = sum->getOperand(side).getDefiningOp<ReduceMeanOp>();
      auto epsilon = sum->getOperand(1 - side).getDefiningOp<ConstantOp>();
      auto square = mean ? mean.getOperand().getDefiningOp<MultiplyOp>() : MultiplyOp();
      const auto last = static_cast<int64_t>(shapeOf(x).size()) - 1;
      if (epsilon && square && square.getLhs() == x && square.getRhs() == x && mean.getKeep() &&
          mean.getDims() == ArrayRef(last))
        return epsilon.getValue().convertToDouble();
    }
    return std::nullopt;
  }

  LogicalResult matchAndRewrite(MultiplyOp product, PatternRewriter &rewriter) const override {
    for (unsigned side = 0; side < 2; ++side) {
      Value x = product.getOperand(side);
      const std::optional<double> epsilon = epsilonOf(product.getOperand(1 - side), x);
      if (!epsilon || shapeOf(x).empty())
        continue;
      const ArrayRef<int64_t> size = shapeOf(x).take_back();
      // The product with the weight, if it is the only use.
      MultiplyOp outer;
      Value weight;
      if (product->hasOneUse())
        outer = dyn_cast<MultiplyOp>(*product->user_begin());
      if (outer) {
        weight = outer.getLhs() == product.getResult() ? outer.getRhs() : outer.getLhs();
        if (shapeOf(weight) != size || !sharesScope(outer, product))
          outer = MultiplyOp();
      }
      // The greedy driver visits the inner product first. Its weight may be defined after it.
      rewriter.setInsertionPoint(outer ? outer.getOperation() : product.getOperation());
      Operation *replaced = outer ? outer.getOperation() : product.getOperation();
      if (!outer)
        weight =
            ConstantOp::create(rewriter, product.getLoc(), tensorOf(size, elementOf(x)), rewriter.getF64FloatAttr(1));
      auto norm = RmsNormOp::create(rewriter, replaced->getLoc(), x, weight, rewriter.getF64FloatAttr(*epsilon));
      rewriter.replaceOp(replaced, norm.getY());
      return success();
    }
    return failure();
  }
};
} // namespace

void populateRmsNormRecognitionPatterns(RewritePatternSet &patterns) {
  patterns.add<RecognizeRmsNorm>(patterns.getContext());
}

} // namespace sluice::model
