//===- Resharder.cpp - operands in the shardings that their ops take them in ----------------===//

#include "passes/sharding/tensor/Resharder.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/tensor/Collectives.h"
#include "passes/sharding/tensor/Positions.h"

using namespace mlir;

namespace sluice::tensor {

Resharder::Resharder(func::FuncOp function, const Axis &axis, CollectiveRemarks &remarks)
    : block(function.getBody().front()), axis(axis), remarks(remarks) {
  // Each rank has inputs that are sharded by rows in full.
  for (auto reshard : block.getOps<spmd::ReshardOp>())
    if (cast<spmd::ShardingAttr>(reshard.getSources()[0]).isReplicated())
      noteSlice(reshard.getResults()[0], reshard.getOperands()[0]);
}

void Resharder::noteSlice(Value part, Value replicated) {
  for (unsigned isAgain : {0U, 1U})
    gathered[{part, isAgain}] = replicated;
}

static std::int64_t elementsOf(Value value) { return cast<ShapedType>(value.getType()).getNumElements(); }

/// True for an op that computes each element from those in the same place, or repeats them.
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

std::int64_t Resharder::leastElements(Value value, unsigned ops) const {
  if (!of(value).isSharded() || (gathered.contains({value, 0}) && gathered.contains({value, 1})))
    return 0;
  Operation *op = value.getDefiningOp();
  if (ops == 0 || !of(value).isOfTokens() || copies.contains(op) || !isPointwise(op) ||
      llvm::any_of(op->getOperands(),
                   [&](Value operand) { return of(operand).isSharded() && !of(operand).isOfTokens(); }))
    return elementsOf(value);
  std::int64_t total = 0;
  for (Value operand : op->getOperands())
    total += leastElements(operand, ops - 1);
  return std::min(total, elementsOf(value));
}

bool Resharder::isCheaperToGatherInputs(Value value) const {
  return leastElements(value, /*ops=*/8) < elementsOf(value);
}

static spmd::ShardingAttr attributeOf(Value value, const AxisSharding &sharding, StringRef axis) {
  return withAxis(nullptr, sharding, axis, cast<RankedTensorType>(value.getType()));
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
    // Of a window, the value that it is a window of: others may take that as well. Of a value with cheaper inputs,
    // those.
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
      // A part of one with cheaper inputs is better computed in parts.
      if (!gathersInputs)
        copies.insert(copy);
    } else {
      auto reshard = spmd::ReshardOp::create(builder, value.getLoc(), value, attributeOf(value, sharding, axis.name),
                                             attributeOf(value, {}, axis.name));
      known = reshard.getResults()[0];
      remarks.add(reader->getLoc(), ("all_gather over '" + axis.name + "': " + text + " " + ruleText(reader)).str());
      copyTags(value.getDefiningOp() && !isAgain ? value.getDefiningOp() : reader, reshard);
    }
    gathered[key] = known;
  }
  use.set(known);
}

Value Resharder::computeInParts(Value value, const AxisSharding &sharding) {
  if (of(value).isSamePlacement(sharding))
    return value;
  Operation *op = value.getDefiningOp();
  auto ruled = dyn_cast_or_null<ShardingRuleOpInterface>(op);
  if (!ruled || copies.contains(op) || op->getBlock() != &block || op->getNumResults() != 1 ||
      of(value).kind != AxisSharding::Kind::replicated)
    return nullptr;
  ShardingRule rule = ruled.getShardingRule();
  std::optional<FactorSplit> split = factorOf(rule, rule.results[0], sharding);
  if (!split || rule.factors[split->factor].whole || !isCut(cutOf(rule, *split, axis.ranks)) ||
      (rule.factors[split->factor].positioned && sharding.segments != 1) ||
      !canPosition(op, rule, *split, /*isLocal=*/true, axis))
    return nullptr;
  SmallVector<Value> operands(op->getOperands());
  for (auto [index, operand] : llvm::enumerate(operands)) {
    if (!hasFactor(rule.operands[index], split->factor))
      continue;
    // Work is not done twice.
    if (!value.hasOneUse())
      return nullptr;
    AxisSharding wanted = *shardingOf(rule, rule.operands[index], *split);
    wanted.priority = sharding.priority;
    Value part = computeInParts(operand, wanted);
    // A window may be small compared to the value that it is of.
    if (!part && isa<ViewOpInterface>(op))
      return nullptr;
    operand = part ? part : slice(op, operand, wanted);
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
  replicate(use, "operands lie differently for");
  Value part = computeInParts(use.get(), sharding);
  use.set(part ? part : slice(use.getOwner(), use.get(), sharding));
}

Value Resharder::slice(Operation *reader, Value value, const AxisSharding &sharding) {
  OpBuilder builder(reader);
  auto reshard = spmd::ReshardOp::create(builder, value.getLoc(), value, attributeOf(value, of(value), axis.name),
                                         attributeOf(value, sharding, axis.name));
  copyTags(reader, reshard);
  Value part = reshard.getResults()[0];
  noteSlice(part, value);
  return part;
}

void Resharder::eraseReplaced() {
  for (Operation *op : llvm::reverse(replaced.getArrayRef()))
    if (op->use_empty())
      op->erase();
}

} // namespace sluice::tensor
