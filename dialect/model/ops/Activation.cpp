//===- Activation.cpp - activations -------------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

#include <numbers>

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult GeluOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  return inferSame(adaptor.getX(), types);
}

LogicalResult GeluGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  return inferSame(adaptor.getX(), types);
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

LogicalResult GeluOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                               SmallVectorImpl<Value> &gradients) {
  gradients.push_back(GeluGradOp::create(builder, getLoc(), cotangents[0], getX(), getApproximateAttr()));
  return success();
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

// erf: x (1 + erf(x / sqrt 2)) / 2; tanh: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
FailureOr<SmallVector<Value>> GeluOp::decompose(OpBuilder &builder) {
  Location location = getLoc();
  Type element = statisticsElement(elementOf(getX()));
  Value x = makeCast(builder, location, getX(), element);
  Value inner;
  if (getApproximate() == GeluApproximation::tanh) {
    Value square = MultiplyOp::create(builder, location, x, x);
    Value cube = MultiplyOp::create(builder, location, square, x);
    Value sum = AddOp::create(builder, location, x, makeScale(builder, location, cube, 0.044715));
    Value scaled = makeScale(builder, location, sum, std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
    inner = TanhOp::create(builder, location, scaled);
  } else {
    inner = ErfOp::create(builder, location, makeScale(builder, location, x, 1 / std::numbers::sqrt2));
  }
  Value one = makeConstant(builder, location, 1, tensorOf({}, element));
  Value weight = AddOp::create(builder, location, inner, one);
  Value half = makeScale(builder, location, x, 0.5);
  Value y = MultiplyOp::create(builder, location, half, weight);
  return SmallVector<Value>{makeCast(builder, location, y, elementOf(getX()))};
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

ShardingRule GeluOp::getShardingRule() { return pointwiseRule(*this); }
ShardingRule GeluGradOp::getShardingRule() { return pointwiseRule(*this); }

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Operations of the decomposition, a transcendental counting as one.
OpCost GeluOp::getCost() { return pointwiseCost(*this, getApproximate() == GeluApproximation::tanh ? 9 : 5); }
OpCost GeluGradOp::getCost() { return pointwiseCost(*this, getApproximate() == GeluApproximation::tanh ? 18 : 11); }

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

KernelCall GeluOp::getKernelCall() {
  return makeCall(*this, KernelId::gelu,
                  {integerAttribute(*this, "approximate", getApproximate() == GeluApproximation::tanh)});
}

KernelCall GeluGradOp::getKernelCall() {
  return makeCall(*this, KernelId::gelu_grad,
                  {integerAttribute(*this, "approximate", getApproximate() == GeluApproximation::tanh)});
}

} // namespace sluice::model
