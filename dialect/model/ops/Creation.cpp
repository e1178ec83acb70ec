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

template <typename OpT> static LogicalResult verifyRandom(OpT op) {
  // random_normal_c2
  const size_t numbers = op.getStepAndRow().size();
  if (numbers != 0 && numbers != 2)
    return op.emitOpError() << "operands after the seed, expected 0 or 2 but got " << numbers;
  // random_normal_c3
  if (numbers != 0 && (typeOf(op.getResult()).getRank() == 0 || op.getKey() > UINT32_MAX))
    return op.emitOpError("numbers of a step have rank 1 or more, and a 'key' of 0 to 4294967295");
  return verifyZeros(op, op.getZeros());
}

LogicalResult RandomNormalOp::verify() { return verifyRandom(*this); }
LogicalResult RandomUniformOp::verify() { return verifyRandom(*this); }

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
