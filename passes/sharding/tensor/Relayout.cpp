//===- Relayout.cpp - values brought from one layout into another -------------------------===//

#include "passes/sharding/tensor/Relayout.h"

#include "dialect/model/Model.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spmd.h"
#include "passes/sharding/tensor/Collectives.h"

using namespace mlir;

namespace sluice::tensor {

void Relayout::set(Value value, Layout layout, StringRef parameter) {
  layout.parameter = parameter;
  if (layout.kind == Layout::Kind::whole)
    layouts.erase(value);
  else
    layouts[value] = layout;
}

void Relayout::settle(ArrayRef<Operation *> made, Operation *like) {
  for (Operation *op : made) {
    copyTags(like, op);
    visited.insert(op);
    settled.insert(op);
  }
}

std::string ruleText(Operation *op) {
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  std::string text = op->getName().getStringRef().str();
  if (ruled) {
    text += ' ';
    text += ruled.getShardingRule().str();
  }
  return text;
}

/// Of rows, their places in the sequence and features; no gradient of a parameter.
bool Relayout::hasSequence(Value partial) const {
  auto type = cast<RankedTensorType>(partial.getType());
  return wishes.bySequence && type.getRank() == 3 && type.getDimSize(1) > 1 &&
         (!wishes.sequence || type.getDimSize(1) == wishes.sequence) &&
         of(partial).reduction == PartialReduction::sum &&
         llvm::none_of(partial.getUsers(), [](Operation *user) {
           return isa<model::GradientOp>(user) || spmd::phaseOf(user) == "update";
         });
}

Value Relayout::complete(Value partial) {
  PartialReduction reduction = of(partial).reduction;
  Operation *maker = partial.getDefiningOp();
  OpBuilder builder(maker->getContext());
  builder.setInsertionPointAfter(maker);
  // What the completion is made of.
  SmallVector<Operation *> made;
  Layout part;
  if (hasSequence(partial)) {
    part.kind = Layout::Kind::split;
    part.dim = 1;
    part.chunk = spmd::chunkOf(cast<RankedTensorType>(partial.getType()).getDimSize(1), ranks);
    part.ofSequence = true;
  }
  Value value = part.isSplit() ? scattered(builder, partial, part, ranks, made)
                               : completed(builder, partial, reduction, made);
  settle(made, maker);
  for (Operation *op : made) {
    if (isa<spmd::AllReduceStartOp>(op))
      reasons.add(maker->getLoc(), "all_reduce over 'tensor': a split dim is reduced by " + ruleText(maker));
    if (isa<spmd::ReduceScatterStartOp>(op))
      reasons.add(maker->getLoc(), "reduce_scatter over 'tensor': a split dim is reduced by " + ruleText(maker) +
                                       ", and what follows takes parts of the sequence");
  }
  if (part.isSplit()) {
    // Of the whole's type like every value on the way, until the end.
    auto shaped = model::ReshapeOp::create(builder, maker->getLoc(), cast<RankedTensorType>(partial.getType()), value);
    copyTags(maker, shaped);
    visited.insert(shaped);
    value = shaped.getResult();
    set(value, part, of(partial).parameter);
  }
  if (Attribute ids = maker->getAttr(spmd::idsName); ids && maker->getNumResults() == 1)
    value.getDefiningOp()->setAttr(spmd::idsName, ids);
  partial.replaceUsesWithIf(value, [&](OpOperand &use) { return !visited.contains(use.getOwner()); });
  return value;
}

void Relayout::makeWhole(OpOperand &use, Operation *why, StringRef text) {
  Value value = use.get();
  const Layout layout = of(value);
  if (layout.isPartial()) {
    // Replaces this use with the others.
    complete(value);
    return;
  }
  if (!layout.isSplit())
    return;
  bool isAgain = layout.ofSequence && spmd::phaseOf(why) == "backward";
  std::pair<Value, unsigned> key(value, isAgain ? 1U : 0U);
  Value known = gathered.lookup(key);
  if (!known) {
    OpBuilder builder(why);
    if (!isAgain)
      builder.setInsertionPointAfterValue(value);
    SmallVector<Operation *> made;
    // Of a window, what it is a window of: others may want that as well.
    if (Operation *view = layout.ofSequence ? value.getDefiningOp() : nullptr;
        view && isa<ViewOpInterface>(view) && view->getNumResults() == 1 && of(view->getOperand(0)).ofSequence) {
      made.push_back(builder.clone(*view));
      made.back()->removeAttr(spmd::placesName);
      copyTags(isAgain ? why : view, made.back());
      makeWhole(made.back()->getOpOperand(0), made.back(), text);
      known = made.back()->getResult(0);
    } else {
      known = gatheredWhole(builder, value, layout, ranks, made);
      reasons.add(why->getLoc(), ("all_gather over 'tensor': " + text + " " + ruleText(why)).str());
    }
    gathered[key] = known;
    settle(made, value.getDefiningOp() && !isAgain ? value.getDefiningOp() : why);
  }
  use.set(known);
}

/// A value that ranks hold whole is made again in parts: by what makes it, where any part can be made by itself.
Value Relayout::remake(Value value, const Layout &layout) {
  if (of(value).isSameSplit(layout))
    return value;
  Operation *maker = value.getDefiningOp();
  auto ruled = dyn_cast_or_null<ShardingRuleOpInterface>(maker);
  if (!ruled || settled.contains(maker) || maker->getBlock() != &block || maker->getNumResults() != 1 ||
      of(value).kind != Layout::Kind::whole)
    return nullptr;
  ShardingRule rule = ruled.getShardingRule();
  std::optional<FactorSplit> split = factorOf(rule, rule.results[0], layout);
  if (!split || rule.factors[split->factor].whole || !isCut(cutOf(rule, *split, ranks)) ||
      (rule.factors[split->factor].positioned && layout.segments != 1))
    return nullptr;
  SmallVector<Value> operands(maker->getOperands());
  Layout part = layout;
  part.isMade = true;
  for (auto [index, operand] : llvm::enumerate(operands)) {
    if (!hasFactor(rule.operands[index], split->factor))
      continue;
    // Work is not done twice.
    if (!value.hasOneUse())
      return nullptr;
    Layout wanted = *layoutOf(rule, rule.operands[index], *split);
    Value made = remake(operand, wanted);
    // A window may be small beside what it is of.
    if (!made && isa<ViewOpInterface>(maker))
      return nullptr;
    operand = made ? made : cut(maker, operand, wanted);
    part.isMade &= of(operand).isMade;
  }
  OpBuilder builder(maker);
  builder.setInsertionPointAfter(maker);
  Operation *made = builder.clone(*maker);
  made->setOperands(operands);
  visited.insert(made);
  setPlaces(made, rule, *split, part.isMade, ranks);
  set(made->getResult(0), part, layout.parameter);
  replaced.push_back(maker);
  return made->getResult(0);
}

void Relayout::clearPadding(OpOperand &use, RankedTensorType whole, const Layout &layout, bool whereRead) {
  if (!isPadded(whole, layout, ranks))
    return;
  OpBuilder builder(use.getOwner());
  Operation *maker = whereRead ? nullptr : use.get().getDefiningOp();
  if (!whereRead)
    builder.setInsertionPointAfterValue(use.get());
  SmallVector<Operation *> made;
  Value cleared = padded(builder, use.get(), whole, layout, ranks, made);
  settle(made, maker ? maker : use.getOwner());
  set(cleared, layout, layout.parameter);
  use.set(cleared);
}

void Relayout::makeSplit(OpOperand &use, const Layout &layout) {
  if (of(use.get()).isSameSplit(layout))
    return;
  makeWhole(use, use.getOwner(), "operands lie differently for");
  Value made = remake(use.get(), layout);
  RankedTensorType whole = cast<RankedTensorType>(use.get().getType());
  use.set(made ? made : cut(use.getOwner(), use.get(), layout));
  // A piece leaves padding unwritten; segments are read dense.
  if (!made && layout.segments != 1)
    clearPadding(use, whole, layout, /*whereRead=*/true);
}

/// Where it is used: a parameter may be released in between.
Value Relayout::cut(Operation *user, Value value, const Layout &layout) {
  OpBuilder builder(user);
  SmallVector<Operation *> ops;
  Value part = cutOut(builder, value, layout, ranks, ops);
  settle(ops, user);
  set(part, layout, layout.parameter);
  return part;
}

void setPlaces(Operation *op, const ShardingRule &rule, const FactorSplit &split, bool isMade, std::int64_t ranks) {
  Cut cut = cutOf(rule, split, ranks);
  if (cut == Cut::merged)
    return;
  bool isPartial = cut == Cut::padded && spmd::phaseOf(op) != "update";
  if (!rule.factors[split.factor].positioned && !isPartial && !(isMade && split.segments == 1))
    return;
  Builder builder(op->getContext());
  SmallVector<Attribute> places;
  auto add = [&](const TensorFactors &tensor) {
    std::optional<Layout> layout = layoutOf(rule, tensor, split);
    std::int64_t total = 1;
    if (layout)
      for (unsigned factor : tensor[layout->dim])
        total *= rule.factors[factor].size;
    places.push_back(layout ? Attribute(placeOf(op->getContext(), *layout, total)) : Attribute(builder.getUnitAttr()));
  };
  for (const TensorFactors &tensor : rule.operands)
    add(tensor);
  for (const TensorFactors &tensor : rule.results)
    add(tensor);
  op->setAttr(spmd::placesName, builder.getArrayAttr(places));
}

void Relayout::finish() {
  for (Operation *op : llvm::reverse(replaced))
    if (op->use_empty())
      op->erase();
  for (Operation &op : block) {
    if (settled.contains(&op))
      continue;
    bool changes = false;
    for (Value operand : op.getOperands())
      changes |= of(operand).isSplit();
    for (Value result : op.getResults())
      if (of(result).isSplit()) {
        result.setType(localType(cast<RankedTensorType>(result.getType()), of(result)));
        changes = true;
      }
    if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op); ruled && changes)
      ruled.adjustToTypes();
  }
}

} // namespace sluice::tensor
