//===- AllReduce.cpp - model.all_reduce, a collective of the model ------------------------===//
//
// The sharding phase replaces the op by a collective. On one rank the op is a copy.
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
