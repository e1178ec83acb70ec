//===- LocalTypes.cpp - from whole tensors to shards through ops ---------------------------===//

#include "passes/sharding/LocalTypes.h"

#include "dialect/spmd/Names.h"

using namespace mlir;
using namespace sluice;

namespace {

/// How a factor is split: the dim of a shard that it is.
struct Split {
  spmd::ValidAttr valid;
  std::int64_t chunk = 0;
  /// True for a shard by elements: one dim for all of the tensor's, which has all their factors, in order.
  bool flat = false;
  llvm::SmallVector<unsigned> factors = {};
  bool operator==(const Split &other) const {
    return flat == other.flat && factors == other.factors && valid.getTotal() == other.valid.getTotal() && valid.getAxes() == other.valid.getAxes() &&
           chunk == other.chunk;
  }
};

ArrayAttr axesOf(spmd::ValidAttr valid) {
  SmallVector<Attribute> axes(valid.getAxes().begin(), valid.getAxes().end());
  return ArrayAttr::get(valid.getContext(), axes);
}

} // namespace

void LocalTypes::remember(Operation *op) {
  if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op))
    rules[op] = ruled.getShardingRule();
}

LogicalResult LocalTypes::retype(Operation *op) {
  if (llvm::none_of(op->getOperandTypes(), [](Type type) { return spmd::validOf(type) != nullptr; }))
    return success();
  auto found = rules.find(op);
  if (found == rules.end())
    return op->emitOpError("operands, expected whole tensors for an op without a sharding rule but got a shard");
  const ShardingRule &rule = found->second;

  llvm::MapVector<unsigned, Split> splits;
  SmallVector<unsigned> wholeOperands;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    spmd::ValidAttr valid = spmd::validOf(operand.getType());
    if (!valid) {
      wholeOperands.push_back(index);
      continue;
    }
    auto type = cast<RankedTensorType>(operand.getType());
    const TensorFactors &dims = rule.operands[index];
    // With all elements in one dim, its factors are those of all dims.
    bool isFlat = type.getRank() == 1 && dims.size() != 1;
    Split split{valid, type.getDimSize(valid.getDim()), isFlat};
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      if (isFlat || static_cast<std::int64_t>(dim) == valid.getDim())
        split.factors.append(dims[dim].begin(), dims[dim].end());
    bool isWhole = split.factors.empty() || (!isFlat && split.factors.size() != 1) ||
                   llvm::any_of(split.factors, [&](unsigned factor) { return rule.factors[factor].whole; });
    if (isWhole)
      return op->emitOpError() << "operand " << index << ", expected a tensor whole along dim " << valid.getDim()
                               << " but got " << operand.getType();
    for (unsigned factor : split.factors) {
      auto [slot, fresh] = splits.insert({factor, split});
      if (!fresh && !(slot->second == split))
        return op->emitOpError() << "operand " << index << ", expected a shard like the others but got "
                                 << operand.getType();
    }
  }
  // A whole operand must not have a split factor.
  for (unsigned index : wholeOperands)
    for (const auto &factors : rule.operands[index])
      for (unsigned factor : factors)
        if (splits.contains(factor))
          return op->emitOpError() << "operand " << index << ", expected a shard like the others but got "
                                   << op->getOperand(index).getType();

  llvm::SmallDenseSet<unsigned> parallel;
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    llvm::SmallVector<unsigned> all;
    for (const auto &factors : rule.results[index])
      all.append(factors.begin(), factors.end());
    if (!all.empty() && splits.contains(all.front()) && splits[all.front()].flat && splits[all.front()].factors == all) {
      parallel.insert(all.begin(), all.end());
      ArrayAttr axes = axesOf(splits[all.front()].valid);
      auto elements = RankedTensorType::get({type.getNumElements()}, type.getElementType());
      result.setType(spmd::shardType(elements, 0, axes, spmd::groupSize(mesh, axes)));
      continue;
    }
    for (auto [dim, factors] : llvm::enumerate(rule.results[index])) {
      if (factors.size() != 1 || !splits.contains(factors.front()))
        continue;
      if (splits[factors.front()].flat)
        return op->emitOpError() << "result " << index << ", expected all elements of a shard by elements but got "
                                 << type;
      parallel.insert(factors.front());
      const Split &split = splits[factors.front()];
      ArrayAttr axes = axesOf(split.valid);
      result.setType(spmd::shardType(type, static_cast<std::int64_t>(dim), axes, spmd::groupSize(mesh, axes)));
    }
  }
  // What is split and in no result has been reduced on each rank alone.
  for (auto &[factor, split] : splits)
    if (!parallel.contains(factor)) {
      if (rule.reduction == PartialReduction::none)
        return op->emitOpError("sharding rule, expected a reduction for a factor without result but got none");
      return complete(op, rule.reduction, axesOf(split.valid), wholeOperands);
    }
  return success();
}

LogicalResult LocalTypes::complete(Operation *op, PartialReduction reduction, ArrayAttr axes,
                                   ArrayRef<unsigned> wholeOperands) {
  if (op->getNumResults() != 1)
    return op->emitOpError() << "partial results, expected one but got " << op->getNumResults();
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  auto phase = op->getAttr(spmd::phaseName);
  auto tagged = [&](Operation *made) {
    if (phase)
      made->setAttr(spmd::phaseName, phase);
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
  auto start = spmd::AllReduceStartOp::create(builder, op->getLoc(), spmd::TokenType::get(op->getContext()), partial,
                                              axes, sum ? "sum" : "max", APFloat(1.0), StringAttr());
  auto wait = spmd::WaitOp::create(builder, op->getLoc(), partial.getType(), start.getToken());
  tagged(start);
  tagged(wait);
  Value value = wait.getValues()[0];
  if (whole)
    value = tagged(model::AddOp::create(builder, op->getLoc(), partial.getType(), value, whole->getResult(0)))
                ->getResult(0);
  if (Attribute ids = op->getAttr(spmd::idsName))
    value.getDefiningOp()->setAttr(spmd::idsName, ids);
  partial.replaceUsesWithIf(value, [&](OpOperand &use) { return use.getOwner() != start; });
  return success();
}
