//===- Random.cpp - what a step draws -----------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::verify() {
  // dropout_c1
  double rate = getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1))
    return emitOpError() << "rate is out of range, expected at least 0 and less than 1 but got " << rate;
  // dropout_c2
  if (int64_t key = getKey(); key < 0 || key > UINT32_MAX)
    return emitOpError() << "key is out of range, expected 0 to " << UINT32_MAX << " but got " << key;
  // dropout_c3
  for (auto [name, value] : {std::pair<StringRef, Value>("seed", getSeed()), {"step", getStep()}, {"row", getRow()}})
    if (failed(expectShape(*this, name, value, {})))
      return failure();
  return success();
}

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
  gradients.push_back(DropoutOp::create(builder, getLoc(), cotangents[0], getSeed(), getStep(), getRow(), getRateAttr(),
                                        getKeyAttr()));
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
  return makeCall(*this, KernelId::dropout,
                           {numberAttribute(*this, "rate", getRate().convertToDouble()),
                            integerAttribute(*this, "key", getKey())});
}

} // namespace sluice::model
