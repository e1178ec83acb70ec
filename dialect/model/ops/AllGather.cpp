//===- AllGather.cpp - model.all_gather and model.reduce_scatter --------------------------===//
//
// Each is the derivative of the other. The sharding phase replaces them by collectives. On one rank they are copies.
//
//===----------------------------------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

/// The constraints from c2 on. `rows` are those of one rank, `all` those of all ranks.
static LogicalResult verifyRows(Operation *op, Value rows, Value all) {
  Value operand = op->getOperand(0), result = op->getResult(0);
  // all_gather_c2, reduce_scatter_c2
  SmallVector<int64_t> expected(shapeOf(operand));
  expected[0] = shapeOf(result)[0];
  if (failed(expectShape(op, "result", result, expected)))
    return failure();
  // all_gather_c3, reduce_scatter_c3
  int64_t part = shapeOf(rows)[0], total = shapeOf(all)[0];
  if (part == 0 || total == 0 || total % part != 0)
    return op->emitOpError() << "rows of all ranks, expected a positive multiple of " << part << " but got " << total;
  // all_gather_c4, reduce_scatter_c4
  return expectElement(op, "result", result, elementOf(operand));
}

LogicalResult AllGatherOp::verify() { return verifyRows(*this, getOperand(), getResult()); }
LogicalResult ReduceScatterOp::verify() { return verifyRows(*this, getResult(), getOperand()); }

FailureOrValues AllGatherOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{ReduceScatterOp::create(builder, getOperand().getType(), cotangents[0])};
}
FailureOrValues ReduceScatterOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{AllGatherOp::create(builder, getOperand().getType(), cotangents[0])};
}

// The rows of other ranks are in no part of the operand. A shard of columns may have padding, which the rows that a
// collective returns are not distinguished from.
static ShardingRule rowsRule(Operation *op) {
  ShardingRule rule;
  rule.operands.push_back(addFactors(rule, shapeOf(op->getOperand(0)), 0));
  rule.results.push_back(addFactors(rule, shapeOf(op->getResult(0)), 0));
  rule.linear = true;
  return rule;
}
ShardingRule AllGatherOp::getShardingRule() { return rowsRule(*this); }
ShardingRule ReduceScatterOp::getShardingRule() { return rowsRule(*this); }

OpCost AllGatherOp::getCost() { return streamingCost(*this, 0); }
OpCost ReduceScatterOp::getCost() { return streamingCost(*this, elementsOf(getOperand())); }

} // namespace sluice::model
