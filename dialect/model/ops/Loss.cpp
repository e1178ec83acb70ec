//===- Loss.cpp - losses ------------------------------------------------------------===//

#include "dialect/model/ops/LossRules.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

double smoothingOf(std::optional<APFloat> smoothing) { return smoothing ? smoothing->convertToDouble() : 0; }

LogicalResult verifySmoothing(Operation *op, double smoothing) {
  if (smoothing >= 0 && smoothing <= 1)
    return success();
  return op->emitOpError() << "label_smoothing is out of range, expected 0 to 1 but got " << smoothing;
}

static LogicalResult verifyTargets(Operation *op, Value logits, Value targets) {
  if (typeOf(logits).getRank() < 1)
    return op->emitOpError("logits have too few dims, expected rank 1 or more but got 0");
  return expectShape(op, "targets", targets, shapeOf(logits).drop_back());
}

LogicalResult CrossEntropyOp::verify() {
  // cross_entropy_c1, cross_entropy_c2
  if (failed(verifyTargets(*this, getLogits(), getTargets())))
    return failure();
  // cross_entropy_c4
  return verifySmoothing(*this, smoothingOf(getLabelSmoothing()));
}

LogicalResult CrossEntropyOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  RankedTensorType logits = typeOf(adaptor.getLogits());
  if (logits.getRank() < 1)
    return emitOptionalError(location, "cross_entropy: logits have too few dims, expected rank 1 or more but got 0");
  Type element = statisticsElement(logits.getElementType());
  types.append({tensorOf({}, element), tensorOf(logits.getShape().drop_back(), element)});
  return success();
}

LogicalResult CrossEntropyGradOp::verify() {
  // cross_entropy_grad_c1
  if (failed(verifyTargets(*this, getLogits(), getTargets())) ||
      failed(verifySmoothing(*this, smoothingOf(getLabelSmoothing()))))
    return failure();
  // cross_entropy_grad_c2
  Type element = statisticsElement(elementOf(getLogits()));
  if (failed(expectShape(*this, "dloss", getDloss(), {})) || failed(expectElement(*this, "dloss", getDloss(), element)))
    return failure();
  // cross_entropy_grad_c3
  if (failed(expectShape(*this, "lse", getLse(), shapeOf(getTargets()))))
    return failure();
  return expectElement(*this, "lse", getLse(), element);
}

LogicalResult CrossEntropyGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                   SmallVectorImpl<Type> &types) {
  return inferSame(adaptor.getLogits(), types);
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

LogicalResult CrossEntropyOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                       SmallVectorImpl<Value> &gradients) {
  if (cotangents[1])
    return emitOpError("has no derivative through its lse, expected a use of the loss only");
  gradients.push_back(CrossEntropyGradOp::create(builder, getLoc(), cotangents[0], getLogits(), getTargets(), getLse(),
                                                 getReductionAttr(), getIgnoreIndexAttr(), getLabelSmoothingAttr()));
  gradients.emplace_back();
  return success();
}

//===----------------------------------------------------------------------===//
// Mean
//===----------------------------------------------------------------------===//

Value countTargets(OpBuilder &builder, Location location, Value targets, int64_t ignore, Type element) {
  Value ignored = makeConstant(builder, location, static_cast<double>(ignore), tensorOf({}, elementOf(targets)));
  Value counts = CompareOp::create(builder, location, targets, ignored, ComparePredicate::ne);
  Value one = makeConstant(builder, location, 1, tensorOf({}, element));
  Value zero = makeConstant(builder, location, 0, tensorOf({}, element));
  return sumAll(builder, location, SelectOp::create(builder, location, counts, one, zero));
}

Value sumAll(OpBuilder &builder, Location location, Value value) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(shapeOf(value).size()));
  return dims.empty() ? value
                      : ReduceSumOp::create(builder, location, value, builder.getDenseI64ArrayAttr(dims), UnitAttr());
}

// The sum of the losses and the number of counted targets, each divided by the number of all targets: near 1.
FailureOr<std::pair<Value, Value>> CrossEntropyOp::buildSumAndCount(OpBuilder &builder) {
  if (getReduction() != LossReduction::mean)
    return failure();
  Location location = getLoc();
  double share = 1.0 / static_cast<double>(elementsOf(getTargets()));
  auto sum = CrossEntropyOp::create(builder, location, getLogits(), getTargets(),
                                    builder.getAttr<LossReductionAttr>(LossReduction::sum), getIgnoreIndexAttr(),
                                    getLabelSmoothingAttr());
  Value count =
      countTargets(builder, location, getTargets(), static_cast<int64_t>(getIgnoreIndex()), elementOf(getLoss()));
  return std::pair(makeScale(builder, location, sum.getLoss(), share), makeScale(builder, location, count, share));
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

/// The mean or sum of lse - picked over targets that count.
static Value lossOfRows(OpBuilder &builder, CrossEntropyOp op, Value lse, Value picked) {
  Location location = op.getLoc();
  Type element = elementOf(lse), index = elementOf(op.getTargets());
  Value zero = makeConstant(builder, location, 0, tensorOf({}, element));
  Value losses = SubtractOp::create(builder, location, lse, picked);
  Value ignored = makeConstant(builder, location, static_cast<int64_t>(op.getIgnoreIndex()), tensorOf({}, index));
  Value counts = CompareOp::create(builder, location, op.getTargets(), ignored, ComparePredicate::ne);
  Value loss = sumAll(builder, location, SelectOp::create(builder, location, counts, losses, zero));
  if (op.getReduction() == LossReduction::mean)
    loss = DivideOp::create(
        builder, location, loss,
        countTargets(builder, location, op.getTargets(), static_cast<int64_t>(op.getIgnoreIndex()), element));
  return loss;
}

// lse = m + log sum exp(x - m); the loss is the mean or sum of lse - x[target] over targets that count.
FailureOr<SmallVector<Value>> CrossEntropyOp::decompose(OpBuilder &builder) {
  Location location = getLoc();
  Type element = statisticsElement(elementOf(getLogits()));
  ArrayRef<int64_t> shape = shapeOf(getLogits()), rows = shape.drop_back();
  auto last = builder.getDenseI64ArrayAttr({static_cast<int64_t>(rows.size())});
  auto sumOf = [&](Value value, DenseI64ArrayAttr dims, UnitAttr keep) -> Value {
    return ReduceSumOp::create(builder, location, value, dims, keep);
  };
  auto compare = [&](Value lhs, Value rhs, ComparePredicate predicate) -> Value {
    return CompareOp::create(builder, location, lhs, rhs, predicate);
  };
  Value x = makeCast(builder, location, getLogits(), element);
  Value largest = ReduceMaxOp::create(builder, location, x, last, builder.getUnitAttr());
  Value shifted = SubtractOp::create(builder, location, x, largest);
  Value sum = sumOf(ExpOp::create(builder, location, shifted), last, builder.getUnitAttr());
  Value keptLse = AddOp::create(builder, location, LogOp::create(builder, location, sum).getResult(), largest);
  Value lse = makeReshape(builder, location, keptLse, rows);

  // x[target] by comparing each column's index with the target: only one term of the sum is not zero.
  Type index = elementOf(getTargets());
  Value zero = makeConstant(builder, location, 0, tensorOf({}, element));
  Value columns = IotaOp::create(builder, location, tensorOf(shape.back(), index), builder.getI64IntegerAttr(0));
  SmallVector<int64_t> kept(rows);
  kept.push_back(1);
  Value targets = makeReshape(builder, location, getTargets(), kept);
  Value hit = compare(targets, columns, ComparePredicate::eq);
  Value picked = sumOf(SelectOp::create(builder, location, hit, x, zero), last, UnitAttr());
  if (double smoothing = smoothingOf(getLabelSmoothing())) {
    Value mean =
        makeScale(builder, location, sumOf(x, last, UnitAttr()), smoothing / static_cast<double>(shape.back()));
    picked = AddOp::create(builder, location, makeScale(builder, location, picked, 1 - smoothing), mean);
  }
  return SmallVector<Value>{lossOfRows(builder, *this, lse, picked), lse};
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

// The columns are whole, except in the split form. Rows of a mean are whole too: the number of counted targets is that
// of all rows.
ShardingRule CrossEntropyOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> shape = shapeOf(getLogits());
  TensorFactors logits = addFactors(rule, shape, getReduction() == LossReduction::mean ? 0 : shape.size() - 1);
  TensorFactors rows(logits.begin(), logits.end() - 1);
  rule.operands.append({logits, rows});
  rule.results.append({TensorFactors(), rows});
  rule.reduction = PartialReduction::sum;
  return rule;
}

// logsumexp, and each row's logit at its target: both can be computed on parts of the columns.
FailureOr<SmallVector<Value>> CrossEntropyOp::buildShardableForm(OpBuilder &builder) {
  Location location = getLoc();
  ArrayRef<int64_t> shape = shapeOf(getLogits()), rows = shape.drop_back();
  auto last = static_cast<int64_t>(rows.size());
  Type element = elementOf(getLse());
  Value x = makeCast(builder, location, getLogits(), element);
  Value lse = LogSumExpOp::create(builder, location, x);
  SmallVector<int64_t> kept(rows);
  kept.push_back(1);
  Value targets = makeReshape(builder, location, getTargets(), kept);
  Value taken = TakeAlongOp::create(builder, location, x, targets, builder.getI64IntegerAttr(last));
  Value picked = makeReshape(builder, location, taken, rows);
  if (double smoothing = smoothingOf(getLabelSmoothing())) {
    Value sum = ReduceSumOp::create(builder, location, x, builder.getDenseI64ArrayAttr({last}), UnitAttr());
    picked = AddOp::create(builder, location, makeScale(builder, location, picked, 1 - smoothing),
                           makeScale(builder, location, sum, smoothing / static_cast<double>(shape.back())));
  }
  return SmallVector<Value>{lossOfRows(builder, *this, lse, picked), lse};
}

// Columns are parallel: the offset of a part shows whether it has the target.
ShardingRule CrossEntropyGradOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> shape = shapeOf(getLogits());
  TensorFactors logits = addFactors(rule, shape, getReduction() == LossReduction::mean ? 0 : shape.size() - 1);
  rule.factors[logits.back().front()].whole = false;
  rule.factors[logits.back().front()].positioned = true;
  TensorFactors rows(logits.begin(), logits.end() - 1);
  rule.operands.append({TensorFactors(), logits, rows, rows});
  rule.results.push_back(logits);
  return rule;
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
// Kernel
//===----------------------------------------------------------------------===//

template <typename OpT> static KernelCall makeEntropyCall(OpT op, KernelId kernel) {
  SmallVector<NamedAttribute> attributes = {integerAttribute(op, "reduction", op.getReduction() == LossReduction::sum),
                                            integerAttribute(op, "ignore_index", op.getIgnoreIndex())};
  if (double smoothing = smoothingOf(op.getLabelSmoothing()))
    attributes.push_back(numberAttribute(op, "label_smoothing", smoothing));
  return makeCall(op, kernel, attributes);
}

KernelCall CrossEntropyOp::getKernelCall() { return makeEntropyCall(*this, KernelId::cross_entropy); }

KernelCall CrossEntropyGradOp::getKernelCall() { return makeEntropyCall(*this, KernelId::cross_entropy_grad); }

} // namespace sluice::model
