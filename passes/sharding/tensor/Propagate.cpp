//===- Propagate.cpp - splits flow through an entry function -----------------------------===//
//
// One pass in program order. Until the end the types of all values are those of whole tensors, as the rules want them;
// layouts stand beside. What is inserted stands ahead of the op that asked for it.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/tensor/Propagate.h"

#include "dialect/model/Model.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spmd.h"
#include "passes/sharding/tensor/Collectives.h"

using namespace mlir;

namespace sluice::tensor {

void Reasons::add(Location where, std::string text) {
  for (auto &[known, reason] : list)
    if (known == text) {
      ++reason.times;
      return;
    }
  list.push_back({std::move(text), {where, 1}});
}

namespace {

class Propagation {
public:
  Propagation(func::FuncOp function, const ParameterSplits &splits, std::int64_t ranks, StringRef origin,
              Reasons &reasons)
      : block(function.getBody().front()), splits(splits), ranks(ranks), origin(origin), reasons(reasons) {}

  LogicalResult run() {
    for (Operation *op = &block.front(); op;) {
      FailureOr<Operation *> next = visit(op);
      if (failed(next))
        return failure();
      op = *next;
    }
    finish();
    return success();
  }

private:
  FailureOr<Operation *> visit(Operation *op);
  LogicalResult visitUnruled(Operation *op);
  LogicalResult visitRuled(Operation *op, const ShardingRule &rule);
  FailureOr<Operation *> visitAdditive(Operation *op, const ShardingRule &rule);
  LogicalResult takePartials(Operation *op, const ShardingRule &rule, bool &staysPartial);
  /// The op's split form in its place; the first of the new ops, or null where there is none.
  Operation *replaceBySplitForm(Operation *op);

  const Layout &layoutOfValue(Value value) {
    auto found = layouts.find(value);
    return found == layouts.end() ? whole : found->second;
  }
  void set(Value value, Layout layout, StringRef parameter) {
    layout.parameter = parameter;
    if (layout.kind == Layout::Kind::whole)
      layouts.erase(value);
    else
      layouts[value] = layout;
  }
  /// Brings the operand to a layout that every rank has whole; `why` an op whose rule asks for it.
  void makeWhole(OpOperand &use, Operation *why, StringRef text);
  LogicalResult makeSplit(OpOperand &use, const Layout &layout);
  Value resolve(Value partial, Operation *why);
  /// The value again, made in parts by the ops that make it, where they can; null where they cannot.
  Value remake(Value value, const Layout &layout);
  void setPlaces(Operation *op, const ShardingRule &rule, const FactorSplit &split);
  void finish();
  std::string ruleText(Operation *op);

  Block &block;
  const ParameterSplits &splits;
  std::int64_t ranks;
  StringRef origin;
  Reasons &reasons;
  const Layout whole;
  llvm::DenseMap<Value, Layout> layouts;
  llvm::DenseMap<Value, Value> gathered;
  /// Ops that are through: their operands have been taken as they lay.
  llvm::DenseSet<Operation *> visited;
  /// Made here, with types that are final.
  llvm::DenseSet<Operation *> settled;
  SmallVector<Operation *> replaced;
};

} // namespace

std::string Propagation::ruleText(Operation *op) {
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  std::string text = op->getName().getStringRef().str();
  if (ruled) {
    text += ' ';
    text += ruled.getShardingRule().str();
  }
  return text;
}

/// Completes a partial value right behind its maker, for all readers that are still to come.
Value Propagation::resolve(Value partial, Operation *why) {
  PartialReduction reduction = layoutOfValue(partial).reduction;
  Operation *maker = partial.getDefiningOp();
  OpBuilder builder(maker->getContext());
  builder.setInsertionPointAfter(maker);
  // What the completion is made of.
  SmallVector<Operation *> made;
  Value value = completed(builder, partial, reduction, made);
  for (Operation *op : made) {
    copyTags(maker, op);
    visited.insert(op);
    settled.insert(op);
    if (isa<spmd::AllReduceStartOp>(op))
      reasons.add(maker->getLoc(), "all_reduce over 'tensor': a split dim is reduced by " + ruleText(maker));
  }
  if (Attribute ids = maker->getAttr(spmd::idsName); ids && maker->getNumResults() == 1)
    value.getDefiningOp()->setAttr(spmd::idsName, ids);
  partial.replaceUsesWithIf(value, [&](OpOperand &use) { return !visited.contains(use.getOwner()); });
  return value;
}

void Propagation::makeWhole(OpOperand &use, Operation *why, StringRef text) {
  Value value = use.get();
  const Layout layout = layoutOfValue(value);
  if (layout.isPartial()) {
    // Replaces this use with the others.
    resolve(value, why);
    return;
  }
  if (!layout.isSplit())
    return;
  Value &known = gathered[value];
  if (!known) {
    OpBuilder builder(why);
    builder.setInsertionPointAfterValue(value);
    SmallVector<Operation *> made;
    known = gatheredWhole(builder, value, layout, ranks, made);
    for (Operation *op : made) {
      copyTags(value.getDefiningOp() ? value.getDefiningOp() : why, op);
      visited.insert(op);
      settled.insert(op);
    }
    reasons.add(why->getLoc(), ("all_gather over 'tensor': " + text + " " + ruleText(why)).str());
  }
  use.set(known);
}

/// A value that ranks hold whole is made again in parts: by what makes it, where any part can be made by itself.
Value Propagation::remake(Value value, const Layout &layout) {
  if (layoutOfValue(value).isSameSplit(layout))
    return value;
  Operation *maker = value.getDefiningOp();
  auto ruled = dyn_cast_or_null<ShardingRuleOpInterface>(maker);
  if (!ruled || settled.contains(maker) || maker->getBlock() != &block || maker->getNumResults() != 1 ||
      layoutOfValue(value).kind != Layout::Kind::whole)
    return nullptr;
  ShardingRule rule = ruled.getShardingRule();
  std::optional<FactorSplit> split = factorOf(rule, rule.results[0], layout);
  if (!split || rule.factors[split->factor].whole || !divides(rule, *split, ranks) ||
      (rule.factors[split->factor].positioned && layout.segments != 1))
    return nullptr;
  SmallVector<Value> operands(maker->getOperands());
  for (auto [index, operand] : llvm::enumerate(operands)) {
    if (!hasFactor(rule.operands[index], split->factor))
      continue;
    // Work is not done twice.
    if (!value.hasOneUse())
      return nullptr;
    operand = remake(operand, *layoutOf(rule, rule.operands[index], *split));
    if (!operand)
      return nullptr;
  }
  OpBuilder builder(maker);
  builder.setInsertionPointAfter(maker);
  Operation *made = builder.clone(*maker);
  made->setOperands(operands);
  visited.insert(made);
  setPlaces(made, rule, *split);
  set(made->getResult(0), layout, layout.parameter);
  replaced.push_back(maker);
  return made->getResult(0);
}

LogicalResult Propagation::makeSplit(OpOperand &use, const Layout &layout) {
  if (layoutOfValue(use.get()).isSameSplit(layout))
    return success();
  makeWhole(use, use.getOwner(), "operands lie differently for");
  Value value = use.get();
  Value made = remake(value, layout);
  if (!made) {
    // Where it is used: a parameter may be released in between.
    OpBuilder builder(use.getOwner());
    SmallVector<Operation *> ops;
    made = cutOut(builder, value, layout, ranks, ops);
    for (Operation *op : ops) {
      copyTags(use.getOwner(), op);
      visited.insert(op);
      settled.insert(op);
    }
    set(made, layout, layout.parameter);
  }
  use.set(made);
  return success();
}

/// Tells the kernel where its part of a factor lies: `spmd.places`, the valid extent of each operand and result.
void Propagation::setPlaces(Operation *op, const ShardingRule &rule, const FactorSplit &split) {
  if (!rule.factors[split.factor].positioned)
    return;
  Builder builder(op->getContext());
  SmallVector<Attribute> places;
  auto add = [&](const TensorFactors &tensor) {
    std::optional<Layout> layout = layoutOf(rule, tensor, split);
    places.push_back(layout ? Attribute(spmd::ValidAttr::get(op->getContext(), layout->dim,
                                                             rule.factors[split.factor].size,
                                                             {builder.getStringAttr(axisName)}))
                            : Attribute(builder.getUnitAttr()));
  };
  for (const TensorFactors &tensor : rule.operands)
    add(tensor);
  for (const TensorFactors &tensor : rule.results)
    add(tensor);
  op->setAttr(spmd::placesName, builder.getArrayAttr(places));
}

Operation *Propagation::replaceBySplitForm(Operation *op) {
  OpBuilder builder(op);
  Operation *before = op->getPrevNode();
  FailureOr<SmallVector<Value>> values = cast<ShardingRuleOpInterface>(op).buildSplitForm(builder);
  if (failed(values))
    return nullptr;
  Operation *first = before ? before->getNextNode() : &block.front();
  for (Operation *made = first; made != op; made = made->getNextNode())
    copyTags(op, made);
  auto ids = op->getAttrOfType<DenseI64ArrayAttr>(spmd::idsName);
  for (auto [index, value] : llvm::enumerate(*values))
    if (ids && value.getDefiningOp()->getNumResults() == 1)
      value.getDefiningOp()->setAttr(spmd::idsName,
                                     DenseI64ArrayAttr::get(op->getContext(), ids.asArrayRef().slice(index, 1)));
  op->replaceAllUsesWith(*values);
  op->erase();
  return first;
}

/// Parameters and their states lie as the parameter does; what else has no rule takes whole values.
LogicalResult Propagation::visitUnruled(Operation *op) {
  auto splitOf = [&](StringRef parameter, Type type) -> const Layout & {
    auto found = splits.find(parameter);
    auto declared = SymbolTable::lookupNearestSymbolFrom<model::ParameterOp>(op, StringAttr::get(op->getContext(), parameter));
    // A state of another shape than its parameter's is not laid out as it is.
    bool isLike = declared && cast<ShapedType>(declared.getType()).getShape() == cast<ShapedType>(type).getShape();
    return found == splits.end() || !isLike ? whole : found->second;
  };
  if (auto read = dyn_cast<model::ReadOp>(op)) {
    const Layout &layout = splitOf(read.getParameter(), read.getType());
    set(read.getValue(), layout, layout.parameter);
    return success();
  }
  if (auto gradient = dyn_cast<model::GradientOp>(op)) {
    const Layout &layout = splitOf(gradient.getParameter(), gradient.getType());
    OpOperand &use = gradient->getOpOperand(0);
    set(gradient.getMean(), layout, layout.parameter);
    if (layout.isSplit())
      return makeSplit(use, layout);
    makeWhole(use, op, "the gradient of a whole parameter is whole for");
    return success();
  }
  if (auto write = dyn_cast<model::WriteOp>(op)) {
    const Layout &layout = splitOf(write.getParameter(), write.getValue().getType());
    if (layout.isSplit())
      return makeSplit(write->getOpOperand(0), layout);
  }
  for (OpOperand &use : op->getOpOperands())
    makeWhole(use, op, "operands are whole for");
  return success();
}

/// Partial operands are completed, unless the op is linear in them and nothing else.
LogicalResult Propagation::takePartials(Operation *op, const ShardingRule &rule, bool &staysPartial) {
  auto isPartial = [&](Value value) { return layoutOfValue(value).isPartial(); };
  staysPartial = false;
  if (llvm::none_of(op->getOperands(), isPartial))
    return success();
  if (rule.linear && llvm::all_of(op->getOperands(), isPartial) &&
      llvm::all_of(op->getOperands(),
                   [&](Value value) { return layoutOfValue(value).reduction == PartialReduction::sum; })) {
    staysPartial = true;
    return success();
  }
  for (OpOperand &use : op->getOpOperands())
    makeWhole(use, op, "");
  return success();
}

LogicalResult Propagation::visitRuled(Operation *op, const ShardingRule &rule) {
  std::optional<FactorSplit> split;
  StringRef parameter;
  for (OpOperand &use : op->getOpOperands()) {
    const Layout layout = layoutOfValue(use.get());
    if (!layout.isSplit())
      continue;
    std::optional<FactorSplit> found = factorOf(rule, rule.operands[use.getOperandNumber()], layout);
    if (found && !rule.factors[found->factor].whole && !divides(rule, *found, ranks)) {
      InFlightDiagnostic error = op->emitError() << origin << ": value of 'sharding.tensor' for parameter '"
                                                 << layout.parameter << "', expected a split that " << ranks
                                                 << " ranks divide in '" << op->getName() << "' but got extent "
                                                 << rule.factors[found->factor].size / found->segments;
      error.attachNote(op->getLoc()) << "its sharding rule is " << rule.str();
      return failure();
    }
    bool fits = found && !rule.factors[found->factor].whole && (!split || *split == *found) &&
                (!rule.factors[found->factor].positioned || layout.segments == 1);
    if (!fits) {
      makeWhole(use, op, split ? "one dim at most is split for" : "a split dim must be whole for");
      continue;
    }
    split = found;
    parameter = layout.parameter;
  }
  if (!split)
    return success();
  for (OpOperand &use : op->getOpOperands())
    if (std::optional<Layout> wanted = layoutOf(rule, rule.operands[use.getOperandNumber()], *split)) {
      wanted->parameter = parameter;
      if (failed(makeSplit(use, *wanted)))
        return failure();
    }
  setPlaces(op, rule, *split);
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (std::optional<Layout> layout = layoutOf(rule, rule.results[index], *split)) {
      set(result, *layout, parameter);
      continue;
    }
    if (rule.reduction == PartialReduction::none)
      return op->emitOpError("sharding rule, expected a reduction for a factor without result but got none");
    Layout partial;
    partial.kind = Layout::Kind::partial;
    partial.reduction = rule.reduction;
    set(result, partial, parameter);
  }
  return success();
}

/// Terms of operands that every rank has whole are combined once, behind the terms of those that are split.
FailureOr<Operation *> Propagation::visitAdditive(Operation *op, const ShardingRule &rule) {
  SmallVector<Value> parts, wholes;
  StringRef parameter;
  for (Value operand : op->getOperands()) {
    const Layout &layout = layoutOfValue(operand);
    (layout.isSplit() ? parts : wholes).push_back(operand);
    if (layout.isSplit())
      parameter = layout.parameter;
  }
  if (parts.empty())
    return op->getNextNode();
  Layout partial;
  partial.kind = Layout::Kind::partial;
  partial.reduction = rule.reduction;
  set(op->getResult(0), partial, parameter);
  Value terms;
  if (!wholes.empty()) {
    OpBuilder builder(op);
    Operation *others = builder.clone(*op);
    others->removeAttr(spmd::idsName);
    others->setOperands(wholes);
    op->setOperands(parts);
    visited.insert(others);
    terms = others->getResult(0);
  }
  Value value = resolve(op->getResult(0), op);
  if (!terms)
    return value.getDefiningOp()->getNextNode();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfterValue(value);
  Operation *sum = rule.reduction == PartialReduction::max
                       ? model::MaximumOp::create(builder, op->getLoc(), value.getType(), value, terms).getOperation()
                       : model::AddOp::create(builder, op->getLoc(), value.getType(), value, terms).getOperation();
  copyTags(op, sum);
  value.getDefiningOp()->removeAttr(spmd::idsName);
  if (Attribute ids = op->getAttr(spmd::idsName))
    sum->setAttr(spmd::idsName, ids);
  visited.insert(sum);
  value.replaceAllUsesExcept(sum->getResult(0), sum);
  return sum->getNextNode();
}

FailureOr<Operation *> Propagation::visit(Operation *op) {
  visited.erase(op);
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled) {
    if (failed(visitUnruled(op)))
      return failure();
    visited.insert(op);
    return op->getNextNode();
  }
  ShardingRule rule = ruled.getShardingRule();
  bool staysPartial = false;
  if (failed(takePartials(op, rule, staysPartial)))
    return failure();
  if (staysPartial) {
    for (Value result : op->getResults())
      set(result, layoutOfValue(op->getOperand(0)), layoutOfValue(op->getOperand(0)).parameter);
    visited.insert(op);
    return op->getNextNode();
  }
  if (rule.additive) {
    visited.insert(op);
    return visitAdditive(op, rule);
  }
  // An op that must have a split factor whole may have a form that need not.
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    const Layout &layout = layoutOfValue(operand);
    std::optional<FactorSplit> split = layout.isSplit() ? factorOf(rule, rule.operands[index], layout) : std::nullopt;
    if (split && rule.factors[split->factor].whole)
      if (Operation *first = replaceBySplitForm(op))
        return first;
  }
  if (failed(visitRuled(op, rule)))
    return failure();
  visited.insert(op);
  return op->getNextNode();
}

/// Types become those of one rank, and what was made again leaves.
void Propagation::finish() {
  for (Operation *op : llvm::reverse(replaced))
    if (op->use_empty())
      op->erase();
  for (Operation &op : block) {
    if (settled.contains(&op))
      continue;
    bool changes = false;
    for (Value operand : op.getOperands())
      changes |= layoutOfValue(operand).isSplit();
    for (Value result : op.getResults())
      if (layoutOfValue(result).isSplit()) {
        result.setType(localType(cast<RankedTensorType>(result.getType()), layoutOfValue(result), ranks));
        changes = true;
      }
    if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op); ruled && changes)
      ruled.adjustToTypes();
  }
}

LogicalResult propagate(func::FuncOp function, const ParameterSplits &splits, std::int64_t ranks, StringRef origin,
                        Reasons &reasons) {
  return Propagation(function, splits, ranks, origin, reasons).run();
}

} // namespace sluice::tensor
