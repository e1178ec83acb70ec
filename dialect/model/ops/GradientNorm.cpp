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

} // namespace sluice::model
