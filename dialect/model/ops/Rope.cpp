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
  // rope_c7
  if (getPacked() != static_cast<bool>(getDocuments()))
    return emitOpError("'packed' requires documents, and documents require 'packed'");
  // rope_c8
  if (failed(verifyExtents(*this)))
    return failure();
  // rope_c2
  if (int64_t size = shapeOf(getX()).back(); size == 0 || size % 2 != 0)
    return emitOpError() << "head size, expected an even number above 0 but got " << size;
  // rope_c6
  if (std::optional<ArrayRef<int64_t>> divisors = getDivisors()) {
    if (int64_t half = shapeOf(getX()).back() / 2; static_cast<int64_t>(divisors->size()) != half)
      return emitOpError() << "divisors, expected " << half << " of them but got " << divisors->size();
    if (auto low = llvm::find_if(*divisors, [](int64_t divisor) { return divisor < 1; }); low != divisors->end())
      return emitOpError() << "divisors, expected numbers above 0 but got " << *low;
  }
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

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

FailureOrValues RopeOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  SmallVector<Value> gradients{RopeOp::create(builder, cotangents[0], getDocuments(), getThetaAttr(), getPositionAttr(),
                                              getScalingAttr(), getFactorAttr(), getLowAttr(), getHighAttr(),
                                              getOriginalAttr(), getDivisorsAttr(),
                                              getInverse() ? UnitAttr() : builder.getUnitAttr(), getPackedAttr())};
  if (getPacked())
    gradients.push_back(Value());
  return gradients;
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

/// f(i) without divisors, for i along the only dim.
static Value makeScaledFrequencies(ImplicitLocOpBuilder &builder, RopeOp op, int64_t count, Type element) {
  auto constant = [&](double value) { return makeConstant(builder, value, tensorOf({}, element)); };
  double step = -std::log(op.getTheta().convertToDouble()) / static_cast<double>(count);
  Value index = IotaOp::create(builder, tensorOf({count}, element), builder.getI64IntegerAttr(0));
  Value plain = ExpOp::create(builder, makeScale(builder, index, step));
  if (op.getScaling() == RopeScaling::unscaled)
    return plain;
  Value divided = makeScale(builder, plain, 1 / op.getFactor().convertToDouble());
  if (op.getScaling() == RopeScaling::linear)
    return divided;
  double low = op.getLow().convertToDouble(), high = op.getHigh().convertToDouble();
  // Frequencies with many wavelengths in the original length are kept, those with few are divided.
  Value waves = makeScale(builder, plain, op.getOriginal().convertToDouble() / (2 * std::numbers::pi));
  Value above = SubtractOp::create(builder, waves, constant(low));
  Value share = makeScale(builder, above, 1 / (high - low));
  Value rest = SubtractOp::create(builder, constant(1), share);
  Value between = AddOp::create(builder, MultiplyOp::create(builder, rest, divided).getResult(),
                                MultiplyOp::create(builder, share, plain).getResult());
  Value few = CompareOp::create(builder, waves, constant(low), ComparePredicate::lt);
  Value many = CompareOp::create(builder, waves, constant(high), ComparePredicate::gt);
  Value upper = SelectOp::create(builder, many, plain, between);
  return SelectOp::create(builder, few, divided, upper);
}

/// f(i), for i along the only dim.
static Value makeFrequencies(ImplicitLocOpBuilder &builder, RopeOp op, int64_t count, Type element) {
  Value scaled = makeScaledFrequencies(builder, op, count, element);
  std::optional<ArrayRef<int64_t>> divisors = op.getDivisors();
  if (!divisors)
    return scaled;
  SmallVector<Value> shares;
  for (int64_t divisor : *divisors)
    shares.push_back(makeConstant(builder, RopeOp::divisorUnit / static_cast<double>(divisor), tensorOf({1}, element)));
  Value joined =
      shares.size() == 1 ? shares.front() : ConcatOp::create(builder, shares, builder.getI64IntegerAttr(0)).getResult();
  return MultiplyOp::create(builder, scaled, joined);
}

// y = (x0 cos a - x1 sin a, x1 cos a + x0 sin a) of the halves x0, x1
FailureOrValues RopeOp::decompose(ImplicitLocOpBuilder &builder) {
  Type element = statisticsElement(elementOf(getX()));
  ArrayRef<int64_t> shape = shapeOf(getX());
  int64_t half = shape[3] / 2;
  Value rows = IotaOp::create(builder, tensorOf({shape[1], 1, 1}, element), builder.getI64IntegerAttr(0));
  Value first = makeConstant(builder, static_cast<double>(getPosition()), tensorOf({}, element));
  Value positions = AddOp::create(builder, rows, first);
  if (Value documents = getDocuments())
    positions = SubtractOp::create(
        builder, positions, makeReshape(builder, makeCast(builder, documents, element), {shape[0], shape[1], 1, 1}));
  Value angles = MultiplyOp::create(builder, positions, makeFrequencies(builder, *this, half, element));
  Value cosine = CosOp::create(builder, angles), sine = SinOp::create(builder, angles);
  if (getInverse())
    sine = NegateOp::create(builder, sine);
  Type part = tensorOf({shape[0], shape[1], shape[2], half}, element);
  auto halves =
      SplitOp::create(builder, TypeRange{part, part}, makeCast(builder, getX(), element), builder.getI64IntegerAttr(3));
  auto product = [&](unsigned index, Value by) -> Value {
    return MultiplyOp::create(builder, halves.getResults()[index], by);
  };
  Value low = SubtractOp::create(builder, product(0, cosine), product(1, sine));
  Value high = AddOp::create(builder, product(1, cosine), product(0, sine));
  Value joined = ConcatOp::create(builder, ValueRange{low, high}, builder.getI64IntegerAttr(3));
  return SmallVector<Value>{makeCast(builder, joined, elementOf(getX()))};
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Two multiplications and an addition for each element, and for each row, of each sample if it is packed, the angles
// with their cosines and sines.
OpCost RopeOp::getCost() {
  ArrayRef<int64_t> shape = shapeOf(getX());
  const auto rows = static_cast<uint64_t>(getPacked() ? shape[0] * shape[1] : shape[1]);
  return streamingCost(*this, 3 * elementsOf(getX()) + rows * (shape[3] / 2) * 3);
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

// A kernel scales frequencies by the attributes that it has. Launches without documents have no attribute for them.
KernelCall RopeOp::getKernelCall() {
  KernelCall call = recordedCall(*this, KernelId::rope);
  llvm::erase_if(call.attributes, [&](NamedAttribute attribute) {
    StringRef name = attribute.getName();
    if (name == "packed")
      return !getPacked();
    return name == "factor"
               ? getScaling() == RopeScaling::unscaled
               : getScaling() != RopeScaling::llama3 && (name == "low" || name == "high" || name == "original");
  });
  return call;
}

} // namespace sluice::model
