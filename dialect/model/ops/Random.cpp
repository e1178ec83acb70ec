//===- Random.cpp - dropout ---------------------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  return inferSame(adaptor.getX(), types);
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

OpFoldResult DropoutOp::fold(FoldAdaptor) { return getRate().isZero() ? OpFoldResult(getX()) : OpFoldResult(); }

FailureOr<SmallVector<Value>> DropoutOp::evaluate(OpBuilder &) { return SmallVector<Value>{getX()}; }

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

// The same mask and factor on dy.
LogicalResult DropoutOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                  SmallVectorImpl<Value> &gradients) {
  gradients.push_back(
      DropoutOp::create(builder, getLoc(), cotangents[0], getSeed(), getStep(), getRow(), getRateAttr(), getKeyAttr()));
  gradients.resize(getNumOperands());
  return success();
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

// Every dim may be split: a kernel draws by global element index.
ShardingRule DropoutOp::getShardingRule() { return positionedRule(*this); }

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Per element: compare, multiply; per four elements ten rounds of two products, four exclusive ors, two sums.
OpCost DropoutOp::getCost() { return pointwiseCost(*this, 22); }

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

KernelCall DropoutOp::getKernelCall() {
  return makeCall(
      *this, KernelId::dropout,
      {numberAttribute(*this, "rate", getRate().convertToDouble()), integerAttribute(*this, "key", getKey())});
}

} // namespace sluice::model
