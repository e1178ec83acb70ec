//===- Creation.cpp - constants, ranges, random tensors ----------------------------===//

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

// random_normal_c1, random_uniform_c1
static LogicalResult verifyZeros(Operation *op, std::optional<ArrayRef<int64_t>> zeros) {
  if (!zeros || (zeros->size() == 2 && (*zeros)[0] >= 0 && (*zeros)[0] <= (*zeros)[1]))
    return success();
  InFlightDiagnostic error = op->emitOpError() << "zeros are not a range, expected first <= last but got [";
  llvm::interleaveComma(*zeros, error);
  return error << "]";
}

LogicalResult RandomNormalOp::verify() { return verifyZeros(*this, getZeros()); }
LogicalResult RandomUniformOp::verify() { return verifyZeros(*this, getZeros()); }

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
  return makeCall(*this, KernelId::constant, {numberAttribute(*this, "value", getValue().convertToDouble())});
}

KernelCall IotaOp::getKernelCall() {
  return makeCall(*this, KernelId::iota, {integerAttribute(*this, "dim", getDim())});
}

/// The range of elements that are 0, if any.
static KernelCall withZeros(KernelCall call, StringAttr name, DenseI64ArrayAttr zeros) {
  if (zeros)
    call.attributes.push_back(NamedAttribute(name, zeros));
  return call;
}

KernelCall RandomNormalOp::getKernelCall() {
  return withZeros(
      makeCall(*this, KernelId::random_normal,
               {integerAttribute(*this, "key", getKey()), numberAttribute(*this, "mean", getMean().convertToDouble()),
                numberAttribute(*this, "stddev", getStddev().convertToDouble())}),
      getZerosAttrName(), getZerosAttr());
}

KernelCall RandomUniformOp::getKernelCall() {
  return withZeros(
      makeCall(*this, KernelId::random_uniform,
               {integerAttribute(*this, "key", getKey()), numberAttribute(*this, "low", getLow().convertToDouble()),
                numberAttribute(*this, "high", getHigh().convertToDouble())}),
      getZerosAttrName(), getZerosAttr());
}

} // namespace sluice::model
