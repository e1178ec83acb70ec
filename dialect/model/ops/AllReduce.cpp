//===- AllReduce.cpp - a reduction over ranks that the model's author writes --------------===//
//
// The sharding phase puts a collective in its place; by itself the op is one rank's, and copies.
//
//===----------------------------------------------------------------------===//

#include "dialect/model/ops/LossRules.h"

using namespace mlir;

namespace sluice::model {

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  return inferSame(adaptor.getOperand(), types);
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

LogicalResult AllReduceOp::buildVjp(OpBuilder &, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                    SmallVectorImpl<Value> &gradients) {
  gradients.push_back(cotangents[0]);
  return success();
}

//===----------------------------------------------------------------------===//
// Sharding, cost, kernel
//===----------------------------------------------------------------------===//

ShardingRule AllReduceOp::getShardingRule() { return linearRule(*this); }

OpCost AllReduceOp::getCost() { return streamingCost(*this, elementsOf(getOperand())); }

KernelCall AllReduceOp::getKernelCall() { return makeCall(*this, KernelId::copy); }

} // namespace sluice::model
