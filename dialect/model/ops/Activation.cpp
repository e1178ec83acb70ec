//===- Activation.cpp - activations -------------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

#include <numbers>

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

FailureOrValues GeluOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{GeluGradOp::create(builder, cotangents[0], getX(), getApproximateAttr())};
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

// erf: x (1 + erf(x / sqrt 2)) / 2; tanh: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
FailureOrValues GeluOp::decompose(ImplicitLocOpBuilder &builder) {
  Type element = statisticsElement(elementOf(getX()));
  Value x = makeCast(builder, getX(), element);
  Value inner;
  if (getApproximate() == GeluApproximation::tanh) {
    Value square = MultiplyOp::create(builder, x, x);
    Value cube = MultiplyOp::create(builder, square, x);
    Value sum = AddOp::create(builder, x, makeScale(builder, cube, 0.044715));
    Value scaled = makeScale(builder, sum, std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
    inner = TanhOp::create(builder, scaled);
  } else {
    inner = ErfOp::create(builder, makeScale(builder, x, 1 / std::numbers::sqrt2));
  }
  Value one = makeConstant(builder, 1, tensorOf({}, element));
  Value weight = AddOp::create(builder, inner, one);
  Value half = makeScale(builder, x, 0.5);
  Value y = MultiplyOp::create(builder, half, weight);
  return SmallVector<Value>{makeCast(builder, y, elementOf(getX()))};
}

} // namespace sluice::model
