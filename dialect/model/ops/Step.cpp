//===- Step.cpp - scalars of a step: norms, clipping, the guard -----------------------===//

#include "dialect/model/ops/Helpers.h"

#include <cmath>

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static LogicalResult verifyPower(Operation *op, double p) {
  if (p > 0)
    return success();
  return op->emitOpError() << "p is out of range, expected more than 0 but got " << p;
}

LogicalResult PowerSumOp::verify() {
  // power_sum_c1
  if (getGradients().empty())
    return emitOpError("operands are missing, expected at least 1 but got 0");
  // power_sum_c2
  if (failed(expectShape(*this, "result", getResult(), {})))
    return failure();
  // power_sum_c3
  return verifyPower(*this, getP().convertToDouble());
}

LogicalResult NormRootOp::verify() {
  // norm_root_c1
  if (failed(expectShape(*this, "sum", getSum(), {})) || failed(expectShape(*this, "result", getNorm(), {})))
    return failure();
  // norm_root_c2
  return verifyPower(*this, getP().convertToDouble());
}

LogicalResult ClipCoefficientOp::verify() {
  // clip_coefficient_c1
  if (failed(expectShape(*this, "norm", getNorm(), {})) || failed(expectShape(*this, "result", getCoefficient(), {})))
    return failure();
  // clip_coefficient_c2
  double limit = getMaxNorm().convertToDouble();
  if (limit > 0)
    return success();
  return emitOpError() << "max_norm is out of range, expected more than 0 but got " << limit;
}

LogicalResult AllFiniteOp::verify() {
  // all_finite_c1
  if (getScalars().empty())
    return emitOpError("operands are missing, expected at least 1 but got 0");
  // all_finite_c2
  for (Value scalar : getScalars())
    if (failed(expectShape(*this, "operand", scalar, {})))
      return failure();
  return expectShape(*this, "result", getGuard(), {});
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

// Every dim is reduced: on shards the result is partial.
ShardingRule PowerSumOp::getShardingRule() {
  ShardingRule rule;
  for (Value gradient : getGradients())
    rule.operands.push_back(addFactors(rule, shapeOf(gradient), shapeOf(gradient).size()));
  rule.results.emplace_back();
  rule.additive = true;
  rule.reduction = std::isinf(getP().convertToDouble()) ? PartialReduction::max : PartialReduction::sum;
  return rule;
}

ShardingRule NormRootOp::getShardingRule() { return pointwiseRule(*this); }
ShardingRule ClipCoefficientOp::getShardingRule() { return pointwiseRule(*this); }
ShardingRule AllFiniteOp::getShardingRule() { return pointwiseRule(*this); }

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Per element: power, add.
OpCost PowerSumOp::getCost() {
  uint64_t elements = 0;
  for (Value gradient : getGradients())
    elements += elementsOf(gradient);
  return streamingCost(*this, 2 * elements);
}
OpCost NormRootOp::getCost() { return pointwiseCost(*this); }
OpCost ClipCoefficientOp::getCost() { return pointwiseCost(*this, 3); }
OpCost AllFiniteOp::getCost() { return streamingCost(*this, getScalars().size()); }

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

KernelCall PowerSumOp::getKernelCall() {
  return makeCall(*this, KernelId::power_sum, {numberAttribute(*this, "p", getP().convertToDouble())});
}
KernelCall NormRootOp::getKernelCall() {
  return makeCall(*this, KernelId::norm_root, {numberAttribute(*this, "p", getP().convertToDouble())});
}
KernelCall ClipCoefficientOp::getKernelCall() {
  return makeCall(*this, KernelId::clip_coefficient,
                           {numberAttribute(*this, "max_norm", getMaxNorm().convertToDouble())});
}
KernelCall AllFiniteOp::getKernelCall() { return makeCall(*this, KernelId::all_finite); }

} // namespace sluice::model
