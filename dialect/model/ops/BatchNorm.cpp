//===- BatchNorm.cpp - batch norm in training, and its running statistics ----------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static LogicalResult verifyChannels(Operation *op, Value x, ArrayRef<std::pair<StringRef, Value>> likeX,
                                    ArrayRef<std::pair<StringRef, Value>> statistics) {
  // batch_norm_c2
  int64_t channels = shapeOf(x).back();
  for (auto [name, value] : likeX)
    if (failed(expectShape(op, name, value, {channels})) || failed(expectElement(op, name, value, elementOf(x))))
      return failure();
  for (auto [name, value] : statistics)
    if (failed(expectShape(op, name, value, {channels})) ||
        failed(expectElement(op, name, value, statisticsElement(elementOf(x)))))
      return failure();
  return success();
}

LogicalResult BatchNormOp::verify() {
  return verifyChannels(*this, getX(), {{"weight", getWeight()}, {"bias", getBias()}}, {});
}

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(adaptor.getX());
  if (x.getRank() < 2)
    return emitOptionalError(location, "batch_norm: x has too few dims, expected rank 2 or more but got ", x.getRank());
  RankedTensorType channels = tensorOf({x.getShape().back()}, statisticsElement(x.getElementType()));
  types.append({x, channels, channels});
  return success();
}

LogicalResult BatchNormGradOp::verify() {
  // batch_norm_grad_c2
  return verifyChannels(*this, getX(), {{"weight", getWeight()}}, {{"mean", getMean()}, {"variance", getVariance()}});
}

LogicalResult BatchNormGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  types.append({adaptor.getX().getType(), adaptor.getWeight().getType(), adaptor.getWeight().getType()});
  return success();
}

LogicalResult RunningAverageOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  return inferSame(adaptor.getOld(), types);
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

LogicalResult BatchNormOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                    SmallVectorImpl<Value> &gradients) {
  if (cotangents[1] || cotangents[2])
    return emitOpError("has no derivative through its mean and variance, expected a use of y only");
  auto grad = BatchNormGradOp::create(builder, getLoc(), cotangents[0], getX(), getWeight(), getMean(), getVariance(),
                                      getEpsilonAttr());
  gradients.append(grad->result_begin(), grad->result_end());
  return success();
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

/// (x - mean) / sqrt(variance + epsilon) * weight + bias.
static Value normalized(OpBuilder &builder, BatchNormOp op, Value centred, Value variance) {
  Location location = op.getLoc();
  Type element = elementOf(centred);
  Value epsilon = makeConstant(builder, location, op.getEpsilon().convertToDouble(), tensorOf({}, element));
  Value rstd = RsqrtOp::create(builder, location, AddOp::create(builder, location, variance, epsilon).getResult());
  Value unit = MultiplyOp::create(builder, location, centred, rstd);
  Value scaled = MultiplyOp::create(builder, location, unit, makeCast(builder, location, op.getWeight(), element));
  Value shifted = AddOp::create(builder, location, scaled, makeCast(builder, location, op.getBias(), element));
  return makeCast(builder, location, shifted, elementOf(op.getX()));
}

FailureOr<SmallVector<Value>> BatchNormOp::decompose(OpBuilder &builder) {
  Location location = getLoc();
  Type element = statisticsElement(elementOf(getX()));
  auto dims = builder.getDenseI64ArrayAttr(llvm::to_vector(llvm::seq<int64_t>(0, typeOf(getX()).getRank() - 1)));
  auto meanOf = [&](Value value) -> Value {
    return ReduceMeanOp::create(builder, location, value, dims, /*keep=*/UnitAttr());
  };
  Value x = makeCast(builder, location, getX(), element);
  Value mean = meanOf(x);
  Value centred = SubtractOp::create(builder, location, x, mean);
  Value variance = meanOf(MultiplyOp::create(builder, location, centred, centred));
  return SmallVector<Value>{normalized(builder, *this, centred, variance), mean, variance};
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// The running average that a statistic updates; null if no op reads the statistic.
static Value runningAverageOf(Value statistic) {
  for (Operation *user : statistic.getUsers())
    if (auto average = dyn_cast<RunningAverageOp>(user); average && average.getValue() == statistic)
      return average.getOld();
  return {};
}

/// Normalizes by the running statistics; without them by the statistics of the rows, as in training.
FailureOr<SmallVector<Value>> BatchNormOp::evaluate(OpBuilder &builder) {
  Value mean = runningAverageOf(getMean()), variance = runningAverageOf(getVariance());
  if (!mean || !variance)
    return SmallVector<Value>(builder.clone(**this)->getResults());
  // The reads of the running statistics are after the op: read them here.
  auto readHere = [&](Value value) -> Value {
    Operation *producer = value.getDefiningOp();
    if (!producer || producer->getBlock() != (*this)->getBlock() || producer->isBeforeInBlock(*this) ||
        producer->getNumOperands() != 0)
      return value;
    return builder.clone(*producer)->getResult(0);
  };
  mean = readHere(mean), variance = readHere(variance);
  Value x = makeCast(builder, getLoc(), getX(), elementOf(mean));
  Value centred = SubtractOp::create(builder, getLoc(), x, mean);
  return SmallVector<Value>{normalized(builder, *this, centred, variance), mean, variance};
}

// Outside training the running average keeps its value.
FailureOr<SmallVector<Value>> RunningAverageOp::evaluate(OpBuilder &) { return SmallVector<Value>{getOld()}; }
FailureOr<SmallVector<Value>> CountUpOp::evaluate(OpBuilder &) { return SmallVector<Value>{getOld()}; }

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

/// Channels are parallel; all other dims of x are normalized over and whole.
static ShardingRule channelRule(Operation *op, ArrayRef<int64_t> x) {
  ShardingRule rule;
  unsigned channels = rule.addFactor(x.back());
  TensorFactors full;
  for (int64_t extent : x.drop_back())
    full.push_back({rule.addFactor(extent, /*whole=*/true)});
  full.push_back({channels});
  auto map = [&](Value value) { return typeOf(value).getRank() == 1 ? TensorFactors{{channels}} : full; };
  for (Value operand : op->getOperands())
    rule.operands.push_back(map(operand));
  for (Value result : op->getResults())
    rule.results.push_back(map(result));
  return rule;
}

ShardingRule BatchNormOp::getShardingRule() { return channelRule(*this, shapeOf(getX())); }
ShardingRule BatchNormGradOp::getShardingRule() { return channelRule(*this, shapeOf(getX())); }
ShardingRule RunningAverageOp::getShardingRule() { return pointwiseRule(*this); }
ShardingRule CountUpOp::getShardingRule() { return pointwiseRule(*this); }

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Per element: mean 1, variance 3, normalize 2, weight and bias 2.
OpCost BatchNormOp::getCost() { return streamingCost(*this, 8 * elementsOf(getX())); }
// Per element: normalized x 2, dbias 1, dweight 2, dx 5.
OpCost BatchNormGradOp::getCost() { return streamingCost(*this, 10 * elementsOf(getX())); }
OpCost RunningAverageOp::getCost() { return pointwiseCost(*this, 3); }
OpCost CountUpOp::getCost() { return pointwiseCost(*this, 1); }

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

KernelCall BatchNormOp::getKernelCall() {
  return makeCall(*this, KernelId::batch_norm, {numberAttribute(*this, "epsilon", getEpsilon().convertToDouble())});
}

KernelCall BatchNormGradOp::getKernelCall() {
  return makeCall(*this, KernelId::batch_norm_grad,
                  {numberAttribute(*this, "epsilon", getEpsilon().convertToDouble())});
}

KernelCall RunningAverageOp::getKernelCall() {
  return makeCall(*this, KernelId::running_average,
                  {numberAttribute(*this, "momentum", getMomentum().convertToDouble()),
                   numberAttribute(*this, "factor", getFactor().convertToDouble())});
}

KernelCall CountUpOp::getKernelCall() { return makeCall(*this, KernelId::count_up); }

} // namespace sluice::model
