//===- RmsNorm.cpp - RMS norm -----------------------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

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

} // namespace sluice::model
