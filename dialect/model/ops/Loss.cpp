//===- Loss.cpp - losses ------------------------------------------------------------===//

#include "dialect/model/Patterns.h"
#include "dialect/model/ops/Helpers.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

double smoothingOf(std::optional<APFloat> smoothing) { return smoothing ? smoothing->convertToDouble() : 0; }

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

FailureOrValues CrossEntropyOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  if (cotangents[1])
    return emitOpError("has no derivative through its lse, expected a use of the loss only");
  return SmallVector<Value>{CrossEntropyGradOp::create(builder, cotangents[0], getLogits(), getTargets(), getLse(),
                                                       getReductionAttr(), getIgnoreIndexAttr(),
                                                       getLabelSmoothingAttr()),
                            Value()};
}

//===----------------------------------------------------------------------===//
// Mean
//===----------------------------------------------------------------------===//

Value countTargets(ImplicitLocOpBuilder &builder, Value targets, int64_t ignore, Type element) {
  Value ignored = makeConstant(builder, static_cast<double>(ignore), tensorOf({}, elementOf(targets)));
  Value counts = CompareOp::create(builder, targets, ignored, ComparePredicate::ne);
  Value one = makeConstant(builder, 1, tensorOf({}, element));
  Value zero = makeConstant(builder, 0, tensorOf({}, element));
  return sumAll(builder, SelectOp::create(builder, counts, one, zero));
}

Value sumAll(ImplicitLocOpBuilder &builder, Value value) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(shapeOf(value).size()));
  return dims.empty() ? value : ReduceSumOp::create(builder, value, builder.getDenseI64ArrayAttr(dims), UnitAttr());
}

FailureOr<std::pair<Value, Value>> CrossEntropyOp::buildSumAndCount(ImplicitLocOpBuilder &builder) {
  return makeSumAndCount(builder, *this);
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

/// The mean or sum of lse - picked over targets that count.
static Value lossOfRows(ImplicitLocOpBuilder &builder, CrossEntropyOp op, Value lse, Value picked) {
  Type element = elementOf(lse), index = elementOf(op.getTargets());
  Value zero = makeConstant(builder, 0, tensorOf({}, element));
  Value losses = SubtractOp::create(builder, lse, picked);
  Value ignored = makeConstant(builder, static_cast<int64_t>(op.getIgnoreIndex()), tensorOf({}, index));
  Value counts = CompareOp::create(builder, op.getTargets(), ignored, ComparePredicate::ne);
  Value loss = sumAll(builder, SelectOp::create(builder, counts, losses, zero));
  if (op.getReduction() == LossReduction::mean)
    loss = DivideOp::create(builder, loss,
                            countTargets(builder, op.getTargets(), static_cast<int64_t>(op.getIgnoreIndex()), element));
  return loss;
}

// lse = m + log sum exp(x - m); the loss is the mean or sum of lse - x[target] over targets that count.
FailureOrValues CrossEntropyOp::decompose(ImplicitLocOpBuilder &builder) {
  Type element = statisticsElement(elementOf(getLogits()));
  ArrayRef<int64_t> shape = shapeOf(getLogits()), rows = shape.drop_back();
  auto sumOf = [&](Value value) -> Value {
    return ReduceSumOp::create(builder, value, builder.getDenseI64ArrayAttr(static_cast<int64_t>(rows.size())),
                               UnitAttr());
  };
  Value x = makeCast(builder, getLogits(), element);
  Value lse = makeReshape(builder, RowExponentials(builder, x).logSum(builder), rows);

  // x[target] by comparing each column's index with the target: only one term of the sum is not zero.
  Type index = elementOf(getTargets());
  Value zero = makeConstant(builder, 0, tensorOf({}, element));
  Value columns = IotaOp::create(builder, tensorOf(shape.back(), index), builder.getI64IntegerAttr(0));
  SmallVector<int64_t> kept(rows);
  kept.push_back(1);
  Value targets = makeReshape(builder, getTargets(), kept);
  Value hit = CompareOp::create(builder, targets, columns, ComparePredicate::eq);
  Value picked = sumOf(SelectOp::create(builder, hit, x, zero));
  if (double smoothing = smoothingOf(getLabelSmoothing())) {
    Value mean = makeScale(builder, sumOf(x), smoothing / static_cast<double>(shape.back()));
    picked = AddOp::create(builder, makeScale(builder, picked, 1 - smoothing), mean);
  }
  return SmallVector<Value>{lossOfRows(builder, *this, lse, picked), lse};
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

// logsumexp, and each row's logit at its target: both can be computed on parts of the columns.
FailureOrValues CrossEntropyOp::buildShardableForm(ImplicitLocOpBuilder &builder) {
  ArrayRef<int64_t> shape = shapeOf(getLogits()), rows = shape.drop_back();
  auto last = static_cast<int64_t>(rows.size());
  Type element = elementOf(getLse());
  Value x = makeCast(builder, getLogits(), element);
  Value lse = LogSumExpOp::create(builder, x);
  SmallVector<int64_t> kept(rows);
  kept.push_back(1);
  Value targets = makeReshape(builder, getTargets(), kept);
  Value taken = TakeAlongOp::create(builder, x, targets, builder.getI64IntegerAttr(last));
  Value picked = makeReshape(builder, taken, rows);
  if (double smoothing = smoothingOf(getLabelSmoothing())) {
    Value sum = ReduceSumOp::create(builder, x, builder.getDenseI64ArrayAttr({last}), UnitAttr());
    picked = AddOp::create(builder, makeScale(builder, picked, 1 - smoothing),
                           makeScale(builder, sum, smoothing / static_cast<double>(shape.back())));
  }
  return SmallVector<Value>{lossOfRows(builder, *this, lse, picked), lse};
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Per logit: maximum, subtract, exp, sum; per row: log, add, subtract, sum.
OpCost CrossEntropyOp::getCost() {
  return streamingCost(*this, 4 * elementsOf(getLogits()) + 4 * elementsOf(getTargets()));
}
// Per logit: subtract, exp, scale; per row: subtract.
OpCost CrossEntropyGradOp::getCost() {
  return streamingCost(*this, 3 * elementsOf(getLogits()) + elementsOf(getTargets()));
}

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

namespace {
/// cross_entropy(reshape(logits), reshape(targets)) ==> cross_entropy(logits, targets), where the reshapes join the
/// rows.
struct KeepLossRows : OpRewritePattern<CrossEntropyOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CrossEntropyOp loss, PatternRewriter &rewriter) const override {
    auto joined = loss.getLogits().getDefiningOp<ReshapeOp>();
    if (!joined || !loss.getLse().use_empty() || shapeOf(joined.getOperand()).empty() ||
        shapeOf(joined.getOperand()).back() != shapeOf(loss.getLogits()).back())
      return failure();
    ImplicitLocOpBuilder builder(loss.getLoc(), rewriter);
    Value targets = makeReshape(builder, loss.getTargets(), shapeOf(joined.getOperand()).drop_back());
    auto kept = CrossEntropyOp::create(rewriter, loss.getLoc(), joined.getOperand(), targets, loss.getReductionAttr(),
                                       loss.getIgnoreIndexAttr(), loss.getLabelSmoothingAttr());
    rewriter.replaceAllUsesWith(loss.getLoss(), kept.getLoss());
    rewriter.eraseOp(loss);
    return success();
  }
};
} // namespace

void populateLossRecognitionPatterns(RewritePatternSet &patterns) { patterns.add<KeepLossRows>(patterns.getContext()); }

} // namespace sluice::model
