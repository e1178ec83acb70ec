//===- Softmax.cpp - softmax over the last dim --------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

FailureOrValues SoftmaxOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{SoftmaxGradOp::create(builder, cotangents[0], getY())};
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

// exp(x - max x) / sum exp(x - max x)
FailureOrValues SoftmaxOp::decompose(ImplicitLocOpBuilder &builder) {
  RowExponentials rows(builder, makeCast(builder, getX(), statisticsElement(elementOf(getX()))));
  Value y = DivideOp::create(builder, rows.powers, rows.sum);
  return SmallVector<Value>{makeCast(builder, y, elementOf(getX()))};
}

} // namespace sluice::model
