//===- Resharder.cpp - operands in the shardings that their ops require --------------------===//

#include "passes/sharding/tensor/Resharder.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/Reshards.h"
#include "passes/sharding/Utils.h"
#include "passes/sharding/tensor/Positions.h"

using namespace mlir;

namespace sluice::tensor {

Resharder::Resharder(func::FuncOp function, const Axis &axis, CollectiveRemarks &remarks)
    : block(function.getBody().front()), axis(axis), remarks(remarks) {
  // As arguments, inputs that are sharded by rows are replicated.
  for (auto reshard : block.getOps<spmd::ReshardOp>())
    if (sourceOf(reshard).isReplicated())
      noteSlice(reshard.getResults()[0], reshard.getOperands()[0]);
}

void Resharder::noteSlice(Value shard, Value replicated) {
  for (unsigned isAgain : {0U, 1U})
    gathered[{shard, isAgain}] = replicated;
}

static std::int64_t elementsOf(Value value) { return cast<ShapedType>(value.getType()).getNumElements(); }

/// True for an op that computes each element from those at the same position, or repeats them.
static bool isPointwise(Operation *op) {
  auto ruled = dyn_cast_or_null<ShardingRuleOpInterface>(op);
  if (!ruled || op->getNumResults() != 1 || op->getNumOperands() == 0)
    return false;
  ShardingRule rule = ruled.getShardingRule();
  for (const TensorFactors &operand : rule.operands)
    for (const auto &dim : operand)
      for (unsigned factor : dim)
        if (rule.factors[factor].whole || rule.factors[factor].positioned || !hasFactor(rule.results[0], factor))
          return false;
  return true;
}

std::int64_t Resharder::leastElements(Value value, unsigned depth) const {
  if (!of(value).isSharded() || (gathered.contains({value, 0}) && gathered.contains({value, 1})))
    return 0;
  Operation *op = value.getDefiningOp();
  if (depth == 0 || !of(value).isOfTokens() || copies.contains(op) || !isPointwise(op) ||
      llvm::any_of(op->getOperands(),
                   [&](Value operand) { return of(operand).isSharded() && !of(operand).isOfTokens(); }))
    return elementsOf(value);
  std::int64_t total = 0;
  for (Value operand : op->getOperands())
    total += leastElements(operand, depth - 1);
  return std::min(total, elementsOf(value));
}

bool Resharder::isCheaperToGatherInputs(Value value) const {
  return leastElements(value, /*depth=*/8) < elementsOf(value);
}

void Resharder::replicate(OpOperand &use, Operation *reader, StringRef text) {
  Value value = use.get();
  const AxisSharding sharding = of(value);
  if (!sharding.isSharded())
    return;
  bool isAgain = sharding.isOfTokens() && model::phaseOf(reader) == Phase::backward;
  std::pair<Value, unsigned> key(value, isAgain ? 1U : 0U);
  Value known = gathered.lookup(key);
  if (!known) {
    OpBuilder builder(reader);
    if (!isAgain)
      builder.setInsertionPointAfterValue(value);
    // For a view, its source is gathered, which other readers may require as well; for a value with cheaper inputs, the
    // inputs.
    Operation *op = sharding.isOfTokens() ? value.getDefiningOp() : nullptr;
    bool gathersInputs = op && isCheaperToGatherInputs(value);
    if (op && (gathersInputs ||
               (isa<ViewOpInterface>(op) && op->getNumResults() == 1 && of(op->getOperand(0)).isOfTokens()))) {
      Operation *copy = builder.clone(*op);
      copy->removeAttr(spmd::shardingsName);
      copy->removeAttr(spmd::localShardingsName);
      copyTags(isAgain ? reader : op, copy);
      for (OpOperand &operand : copy->getOpOperands())
        if (of(operand.get()).isOfTokens())
          replicate(operand, copy, text);
      known = copy->getResult(0);
      // A shard of a value with cheaper inputs is cheaper to compute.
      if (!gathersInputs)
        copies.insert(copy);
    } else {
      auto reshard = createReshard(builder, value, sharding, AxisSharding(), axis.name);
      known = reshard.getResults()[0];
      remarks.add(reader->getLoc(), ("all_gather over '" + axis.name + "': " + ruleText(reader) + " " + text).str());
      copyTags(value.getDefiningOp() && !isAgain ? value.getDefiningOp() : reader, reshard);
    }
    gathered[key] = known;
  }
  use.set(known);
}

Value Resharder::computeShard(Value value, const AxisSharding &sharding) {
  if (of(value).isSamePlacement(sharding))
    return value;
  Operation *op = value.getDefiningOp();
  auto ruled = dyn_cast_or_null<ShardingRuleOpInterface>(op);
  if (!ruled || copies.contains(op) || op->getBlock() != &block || op->getNumResults() != 1 ||
      !of(value).isReplicated())
    return nullptr;
  ShardingRule rule = ruled.getShardingRule();
  std::optional<FactorSharding> factor = factorOf(rule, rule.results[0], sharding);
  if (!factor || rule.factors[factor->index].whole || !areViews(chunksOf(rule, *factor, axis.ranks)) ||
      (rule.factors[factor->index].positioned && sharding.segments != 1) ||
      !canPosition(op, rule, *factor, /*isComputed=*/true, axis))
    return nullptr;
  SmallVector<Value> operands(op->getOperands());
  for (auto [index, operand] : llvm::enumerate(operands)) {
    std::optional<AxisSharding> required = shardingOf(rule, rule.operands[index], *factor);
    if (!required)
      continue;
    // The op must not be computed twice.
    if (!value.hasOneUse())
      return nullptr;
    required->priority = sharding.priority;
    Value shard = computeShard(operand, *required);
    // A view may be small compared to its source.
    if (!shard && isa<ViewOpInterface>(op))
      return nullptr;
    operand = shard ? shard : slice(op, operand, *required);
  }
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  setSharding(copy->getResult(0), sharding, axis.name);
  replaced.insert(op);
  return copy->getResult(0);
}

void Resharder::shard(OpOperand &use, const AxisSharding &sharding) {
  if (of(use.get()).isSamePlacement(sharding))
    return;
  replicate(use, "requires its operands in one sharding");
  Value shard = computeShard(use.get(), sharding);
  use.set(shard ? shard : slice(use.getOwner(), use.get(), sharding));
}

Value Resharder::slice(Operation *reader, Value value, const AxisSharding &sharding) {
  OpBuilder builder(reader);
  auto reshard = createReshard(builder, value, of(value), sharding, axis.name);
  copyTags(reader, reshard);
  noteSlice(reshard.getResults()[0], value);
  return reshard.getResults()[0];
}

void Resharder::eraseReplaced() {
  for (Operation *op : llvm::reverse(replaced.getArrayRef()))
    if (op->use_empty())
      op->erase();
}

} // namespace sluice::tensor
