//===- Random.cpp - dropout ---------------------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

OpFoldResult DropoutOp::fold(FoldAdaptor) { return getRate().isZero() ? OpFoldResult(getX()) : OpFoldResult(); }

FailureOrValues DropoutOp::evaluate(ImplicitLocOpBuilder &) { return SmallVector<Value>{getX()}; }

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

// The same mask and factor on dy.
FailureOrValues DropoutOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{
      DropoutOp::create(builder, cotangents[0], getSeed(), getStep(), getRow(), getRateAttr(), getKeyAttr()), Value(),
      Value(), Value()};
}

} // namespace sluice::model
