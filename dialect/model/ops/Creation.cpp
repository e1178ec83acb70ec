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

ShardingRule iotaRule(Operation *op) {
  ShardingRule rule = pointwiseRule(op);
  for (unsigned factor : rule.results[0][cast<IotaOp>(op).getDim()])
    rule.factors[factor].replicated = true;
  return rule;
}

} // namespace sluice::model
