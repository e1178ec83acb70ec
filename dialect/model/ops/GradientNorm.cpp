//===- GradientNorm.cpp - gradient norm, clipping, the guard --------------------------===//

#include "dialect/model/ops/Helpers.h"

#include <cmath>

using namespace mlir;

namespace sluice::model {

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
