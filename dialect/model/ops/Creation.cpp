//===- Creation.cpp - tensors out of nothing ---------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  // iota_c1
  return expectDims(*this, {static_cast<int64_t>(getDim())}, typeOf(getResult()).getRank());
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

// Every dim may be split: a kernel writes by global element index.
ShardingRule ConstantOp::getShardingRule() { return pointwiseRule(*this); }
ShardingRule IotaOp::getShardingRule() { return positionedRule(*this); }
ShardingRule RandomNormalOp::getShardingRule() { return positionedRule(*this); }
ShardingRule RandomUniformOp::getShardingRule() { return positionedRule(*this); }

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

OpCost ConstantOp::getCost() { return pointwiseCost(*this, 0); }
OpCost IotaOp::getCost() { return pointwiseCost(*this, 0); }
OpCost RandomNormalOp::getCost() { return pointwiseCost(*this); }
OpCost RandomUniformOp::getCost() { return pointwiseCost(*this); }

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

KernelCall ConstantOp::getKernelCall() {
  return makeCall(*this, "constant", {numberAttribute(*this, "value", getValue().convertToDouble())});
}

KernelCall IotaOp::getKernelCall() { return makeCall(*this, "iota", {integerAttribute(*this, "dim", getDim())}); }

KernelCall RandomNormalOp::getKernelCall() {
  return makeCall(*this, "random_normal",
                  {integerAttribute(*this, "key", getKey()), numberAttribute(*this, "mean", getMean().convertToDouble()),
                   numberAttribute(*this, "stddev", getStddev().convertToDouble())});
}

KernelCall RandomUniformOp::getKernelCall() {
  return makeCall(*this, "random_uniform",
                  {integerAttribute(*this, "key", getKey()), numberAttribute(*this, "low", getLow().convertToDouble()),
                   numberAttribute(*this, "high", getHigh().convertToDouble())});
}

} // namespace sluice::model
