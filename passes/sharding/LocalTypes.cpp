//===- LocalTypes.cpp - from whole tensors to shards through ops ---------------------------===//

#include "passes/sharding/LocalTypes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"

using namespace mlir;
using namespace sluice;

namespace {

/// How a factor is split: the dim of a shard that it is.
struct Split {
  spmd::ShardedDim sharded;
  /// True for a shard by elements: one dim for all of the tensor's, which has all their factors, in order.
  bool flat = false;
  llvm::SmallVector<unsigned> factors = {};
  bool operator==(const Split &other) const {
    return flat == other.flat && factors == other.factors && sharded.total == other.sharded.total &&
           sharded.axes == other.sharded.axes && sharded.chunk == other.sharded.chunk;
  }
};

/// What an op's operands say of the factors of its rule.
struct OpSplits {
  llvm::MapVector<unsigned, Split> ofFactor;
  /// Operands that are no shards.
  SmallVector<unsigned> whole;
};

/// Adds what one operand that is a shard says; an error where the op cannot take it.
LogicalResult addShard(OpSplits &splits, OpOperand &operand, const spmd::ShardedDim &sharded,
                       const ShardingRule &rule) {
  Operation *op = operand.getOwner();
  auto type = cast<RankedTensorType>(operand.get().getType());
  const TensorFactors &dims = rule.operands[operand.getOperandNumber()];
  // With all elements in one dim, its factors are those of all dims.
  bool isFlat = type.getRank() == 1 && dims.size() != 1;
  Split split{sharded, isFlat};
  for (std::size_t dim = 0; dim < dims.size(); ++dim)
    if (isFlat || static_cast<std::int64_t>(dim) == sharded.dim)
      split.factors.append(dims[dim].begin(), dims[dim].end());
  bool isWhole = split.factors.empty() || (!isFlat && split.factors.size() != 1) ||
                 llvm::any_of(split.factors, [&](unsigned factor) { return rule.factors[factor].whole; });
  if (isWhole)
    return op->emitOpError() << "operand " << operand.getOperandNumber() << ", expected a tensor whole along dim "
                             << sharded.dim << " but got " << type;
  for (unsigned factor : split.factors) {
    auto [slot, fresh] = splits.ofFactor.insert({factor, split});
    if (!fresh && !(slot->second == split))
      return op->emitOpError() << "operand " << operand.getOperandNumber()
                               << ", expected a shard like the others but got " << type;
  }
  return success();
}

FailureOr<OpSplits> splitsOf(Operation *op, const ShardingRule &rule) {
  OpSplits splits;
  for (OpOperand &operand : op->getOpOperands())
    if (auto sharded = spmd::shardedDimOf(operand.get().getType()); !sharded)
      splits.whole.push_back(operand.getOperandNumber());
    else if (failed(addShard(splits, operand, *sharded, rule)))
      return failure();
  // A whole operand must not have a split factor.
  for (unsigned index : splits.whole)
    for (const auto &factors : rule.operands[index])
      for (unsigned factor : factors)
        if (splits.ofFactor.contains(factor))
          return op->emitOpError() << "operand " << index << ", expected a shard like the others but got "
                                   << op->getOperand(index).getType();
  return splits;
}

/// Types one result by the factors that it has, and takes those that are split out of `reduced`.
LogicalResult typeResult(OpResult result, const ShardingRule &rule, const OpSplits &splits, spmd::MeshOp mesh,
                         llvm::SmallDenseSet<unsigned> &reduced) {
  auto type = cast<RankedTensorType>(result.getType());
  const TensorFactors &dims = rule.results[result.getResultNumber()];
  auto shardOf = [&](RankedTensorType whole, std::int64_t dim, const Split &split) {
    ArrayAttr axes = split.sharded.axesAttr();
    return spmd::shardType(whole, dim, axes, spmd::groupSize(mesh, axes));
  };
  llvm::SmallVector<unsigned> all;
  for (const auto &factors : dims)
    all.append(factors.begin(), factors.end());
  if (auto first = all.empty() ? splits.ofFactor.end() : splits.ofFactor.find(all.front());
      first != splits.ofFactor.end() && first->second.flat && first->second.factors == all) {
    for (unsigned factor : all)
      reduced.erase(factor);
    result.setType(shardOf(RankedTensorType::get({type.getNumElements()}, type.getElementType()), 0, first->second));
    return success();
  }
  for (auto [dim, factors] : llvm::enumerate(dims)) {
    auto split = factors.size() == 1 ? splits.ofFactor.find(factors.front()) : splits.ofFactor.end();
    if (split == splits.ofFactor.end())
      continue;
    if (split->second.flat)
      return result.getOwner()->emitOpError() << "result " << result.getResultNumber()
                                              << ", expected all elements of a shard by elements but got " << type;
    reduced.erase(factors.front());
    result.setType(shardOf(type, static_cast<std::int64_t>(dim), split->second));
  }
  return success();
}

} // namespace

void LocalTypes::remember(Operation *op) {
  if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op))
    rules[op] = ruled.getShardingRule();
}

LogicalResult LocalTypes::retype(Operation *op) {
  if (llvm::none_of(op->getOperandTypes(), [](Type type) { return spmd::shardingOf(type) != nullptr; }))
    return success();
  auto found = rules.find(op);
  if (found == rules.end())
    return op->emitOpError("operands, expected whole tensors for an op without a sharding rule but got a shard");
  const ShardingRule &rule = found->second;
  FailureOr<OpSplits> splits = splitsOf(op, rule);
  if (failed(splits))
    return failure();
  llvm::SmallDenseSet<unsigned> reduced;
  for (const auto &[factor, split] : splits->ofFactor)
    reduced.insert(factor);
  for (OpResult result : op->getResults())
    if (failed(typeResult(result, rule, *splits, mesh, reduced)))
      return failure();
  // What is split and in no result has been reduced on each rank alone.
  for (const auto &[factor, split] : splits->ofFactor)
    if (reduced.contains(factor)) {
      if (rule.reduction == PartialReduction::none)
        return op->emitOpError("sharding rule, expected a reduction for a factor without result but got none");
      return complete(op, rule.reduction, split.sharded.axesAttr(), splits->whole);
    }
  return success();
}

LogicalResult LocalTypes::complete(Operation *op, PartialReduction reduction, ArrayAttr axes,
                                   ArrayRef<unsigned> wholeOperands) {
  if (op->getNumResults() != 1)
    return op->emitOpError() << "partial results, expected one but got " << op->getNumResults();
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  auto phase = op->getAttr(model::phaseName);
  auto tagged = [&](Operation *made) {
    if (phase)
      made->setAttr(model::phaseName, phase);
    return made;
  };
  Value partial = op->getResult(0);
  bool sum = reduction == PartialReduction::sum;

  // Operands that are whole on every rank are counted once: the op over them alone, added behind the all_reduce. A
  // maximum does not mind. Only reduced factors are split, so that operands do not depend on each other.
  Operation *whole = nullptr;
  if (sum && !wholeOperands.empty()) {
    SmallVector<Value> wholeValues, shardValues;
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      (llvm::is_contained(wholeOperands, index) ? wholeValues : shardValues).push_back(operand);
    whole = builder.clone(*op);
    whole->setOperands(wholeValues);
    op->setOperands(shardValues);
  }
  auto partialAxes = llvm::map_to_vector(axes.getAsRange<StringAttr>(),
                                         [&](StringAttr axis) { return spmd::PartialAxis{axis, reduction}; });
  auto replicated =
      spmd::ShardingAttr::replicated(op->getContext(), cast<RankedTensorType>(partial.getType()).getRank());
  auto reshard =
      spmd::ReshardOp::create(builder, op->getLoc(), partial,
                              spmd::ShardingAttr::get(op->getContext(), replicated.getDims(), partialAxes), replicated);
  tagged(reshard);
  Value value = reshard.getResults()[0];
  if (whole)
    value = tagged(model::AddOp::create(builder, op->getLoc(), partial.getType(), value, whole->getResult(0)))
                ->getResult(0);
  if (Attribute ids = op->getAttr(model::idsName))
    value.getDefiningOp()->setAttr(model::idsName, ids);
  partial.replaceUsesWithIf(value, [&](OpOperand &use) { return use.getOwner() != reshard; });
  return success();
}
