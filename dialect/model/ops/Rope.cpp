//===- Rope.cpp - rotary position embedding -------------------------------------------===//
//
// A rotation is linear and its transpose is the inverse rotation: the derivative of a rope is a rope.
//
//===----------------------------------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::verify() {
  // rope_c2
  if (int64_t size = shapeOf(getX()).back(); size == 0 || size % 2 != 0)
    return emitOpError() << "head size, expected an even number above 0 but got " << size;
  // rope_c5
  if (getScaling() != RopeScaling::llama3)
    return success();
  auto expectPositive = [&](StringRef name, const APFloat &value) -> LogicalResult {
    double number = value.convertToDouble();
    if (std::isfinite(number) && number > 0)
      return success();
    return emitOpError() << name << " is out of range, expected a number above 0 but got " << number;
  };
  if (failed(expectPositive("original", getOriginal())) || failed(expectPositive("low", getLow())))
    return failure();
  double low = getLow().convertToDouble(), high = getHigh().convertToDouble();
  if (!(std::isfinite(high) && high > low))
    return emitOpError() << "high is out of range, expected more than low = " << low << " but got " << high;
  return success();
}

LogicalResult RopeOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  return inferSame(adaptor.getX(), types);
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                               SmallVectorImpl<Value> &gradients) {
  gradients.push_back(RopeOp::create(builder, getLoc(), cotangents[0], getThetaAttr(), getPositionAttr(),
                                     getScalingAttr(), getFactorAttr(), getLowAttr(), getHighAttr(), getOriginalAttr(),
                                     getInverse() ? UnitAttr() : builder.getUnitAttr()));
  return success();
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

/// f(i), for i along the only dim.
static Value makeFrequencies(OpBuilder &builder, RopeOp op, int64_t count, Type element) {
  Location location = op.getLoc();
  auto constant = [&](double value) { return makeConstant(builder, location, value, tensorOf({}, element)); };
  double step = -std::log(op.getTheta().convertToDouble()) / static_cast<double>(count);
  Value index = IotaOp::create(builder, location, tensorOf({count}, element), builder.getI64IntegerAttr(0));
  Value plain = ExpOp::create(builder, location, makeScale(builder, location, index, step));
  if (op.getScaling() == RopeScaling::unscaled)
    return plain;
  Value divided = makeScale(builder, location, plain, 1 / op.getFactor().convertToDouble());
  if (op.getScaling() == RopeScaling::linear)
    return divided;
  double low = op.getLow().convertToDouble(), high = op.getHigh().convertToDouble();
  // Frequencies with many wavelengths in the original length are kept, those with few are divided.
  Value waves = makeScale(builder, location, plain, op.getOriginal().convertToDouble() / (2 * std::numbers::pi));
  Value above = SubtractOp::create(builder, location, waves, constant(low));
  Value share = makeScale(builder, location, above, 1 / (high - low));
  Value rest = SubtractOp::create(builder, location, constant(1), share);
  Value between = AddOp::create(builder, location, MultiplyOp::create(builder, location, rest, divided).getResult(),
                                MultiplyOp::create(builder, location, share, plain).getResult());
  Value few = CompareOp::create(builder, location, waves, constant(low), ComparePredicate::lt);
  Value many = CompareOp::create(builder, location, waves, constant(high), ComparePredicate::gt);
  Value upper = SelectOp::create(builder, location, many, plain, between);
  return SelectOp::create(builder, location, few, divided, upper);
}

// y = (x0 cos a - x1 sin a, x1 cos a + x0 sin a) of the halves x0, x1
FailureOr<SmallVector<Value>> RopeOp::decompose(OpBuilder &builder) {
  Location location = getLoc();
  Type element = statisticsElement(elementOf(getX()));
  ArrayRef<int64_t> shape = shapeOf(getX());
  int64_t half = shape[3] / 2;
  Value rows = IotaOp::create(builder, location, tensorOf({shape[1], 1, 1}, element), builder.getI64IntegerAttr(0));
  Value first = makeConstant(builder, location, static_cast<double>(getPosition()), tensorOf({}, element));
  Value positions = AddOp::create(builder, location, rows, first);
  Value angles = MultiplyOp::create(builder, location, positions, makeFrequencies(builder, *this, half, element));
  Value cosine = CosOp::create(builder, location, angles), sine = SinOp::create(builder, location, angles);
  if (getInverse())
    sine = NegateOp::create(builder, location, sine);
  Type part = tensorOf({shape[0], shape[1], shape[2], half}, element);
  auto halves = SplitOp::create(builder, location, TypeRange{part, part}, makeCast(builder, location, getX(), element),
                                builder.getI64IntegerAttr(3));
  auto product = [&](unsigned index, Value by) -> Value {
    return MultiplyOp::create(builder, location, halves.getResults()[index], by);
  };
  Value low = SubtractOp::create(builder, location, product(0, cosine), product(1, sine));
  Value high = AddOp::create(builder, location, product(1, cosine), product(0, sine));
  Value joined = ConcatOp::create(builder, location, ValueRange{low, high}, builder.getI64IntegerAttr(3));
  return SmallVector<Value>{makeCast(builder, location, joined, elementOf(getX()))};
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

// Batch and heads are parallel. A row's position is its index among all rows.
ShardingRule RopeOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> shape = shapeOf(getX());
  TensorFactors x = {{rule.addFactor(shape[0])},
                     {rule.addFactor(shape[1], true)},
                     {rule.addFactor(shape[2])},
                     {rule.addFactor(shape[3], true)}};
  rule.operands.push_back(x);
  rule.results.push_back(x);
  return rule;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Two multiplications and an addition for each element, and for each row the angles with their cosines and sines.
OpCost RopeOp::getCost() {
  ArrayRef<int64_t> shape = shapeOf(getX());
  return streamingCost(*this, 3 * elementsOf(getX()) + static_cast<uint64_t>(shape[1]) * (shape[3] / 2) * 3);
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

KernelCall RopeOp::getKernelCall() {
  SmallVector<NamedAttribute> attributes = {numberAttribute(*this, "theta", getTheta().convertToDouble()),
                                            integerAttribute(*this, "position", getPosition()),
                                            integerAttribute(*this, "inverse", getInverse())};
  if (getScaling() != RopeScaling::unscaled)
    attributes.push_back(numberAttribute(*this, "factor", getFactor().convertToDouble()));
  if (getScaling() == RopeScaling::llama3) {
    attributes.push_back(numberAttribute(*this, "low", getLow().convertToDouble()));
    attributes.push_back(numberAttribute(*this, "high", getHigh().convertToDouble()));
    attributes.push_back(numberAttribute(*this, "original", getOriginal().convertToDouble()));
  }
  return makeCall(*this, KernelId::rope, attributes);
}

} // namespace sluice::model
