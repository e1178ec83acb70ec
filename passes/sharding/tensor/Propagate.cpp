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
#include "passes/sharding/tensor/Heads.h"

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
  Propagation(func::FuncOp function, const Wishes &wishes, Reasons &reasons)
      : block(function.getBody().front()), wishes(wishes), splits(wishes.splits), ranks(wishes.ranks), reasons(reasons) {}

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
  /// True where the value's readers can do with a part of the sequence.
  bool hasSequence(Value partial);
  /// Zeros in the padding of a split value.
  void clearPadding(OpOperand &use, RankedTensorType whole, const Layout &layout);
  /// The value again, made in parts by the ops that make it, where they can; null where they cannot.
  Value remake(Value value, const Layout &layout);
  /// The rank's part of a value that it has whole, for an op.
  Value cut(Operation *user, Value value, const Layout &layout);
  FailureOr<std::optional<FactorSplit>> splitOf(OpOperand &use, const ShardingRule &rule, StringRef &text);
  bool makesSplitGradient(Operation *op, const ShardingRule &rule, const FactorSplit &split);
  void setPlaces(Operation *op, const ShardingRule &rule, const FactorSplit &split, bool isMade);
  void finish();
  std::string ruleText(Operation *op);

  Block &block;
  const Wishes &wishes;
  const ParameterSplits &splits;
  std::int64_t ranks;
  Reasons &reasons;
  const Layout whole;
  llvm::DenseMap<Value, Layout> layouts;
  /// What has been gathered; parts of the sequence a second time for the backward, so as not to be kept.
  llvm::DenseMap<std::pair<Value, unsigned>, Value> gathered;
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

/// Of rows, their places in the sequence and features; no gradient of a parameter.
bool Propagation::hasSequence(Value partial) {
  auto type = cast<RankedTensorType>(partial.getType());
  return wishes.bySequence && type.getRank() == 3 && type.getDimSize(1) > 1 &&
         (!wishes.sequence || type.getDimSize(1) == wishes.sequence) &&
         layoutOfValue(partial).reduction == PartialReduction::sum &&
         llvm::none_of(partial.getUsers(), [](Operation *user) {
           return isa<model::GradientOp>(user) || spmd::phaseOf(user) == "update";
         });
}

/// Completes a partial value right behind its maker, for all readers that are still to come.
Value Propagation::resolve(Value partial, Operation *why) {
  PartialReduction reduction = layoutOfValue(partial).reduction;
  Operation *maker = partial.getDefiningOp();
  OpBuilder builder(maker->getContext());
  builder.setInsertionPointAfter(maker);
  // What the completion is made of.
  SmallVector<Operation *> made;
  Layout part;
  if (hasSequence(partial)) {
    part.kind = Layout::Kind::split;
    part.dim = 1;
    part.ofSequence = true;
  }
  Value value = part.isSplit() ? scattered(builder, partial, part, ranks, made)
                               : completed(builder, partial, reduction, made);
  for (Operation *op : made) {
    copyTags(maker, op);
    visited.insert(op);
    settled.insert(op);
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
    set(value, part, layoutOfValue(partial).parameter);
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
        view && isa<ViewOpInterface>(view) && view->getNumResults() == 1 && layoutOfValue(view->getOperand(0)).ofSequence) {
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
    for (Operation *op : made) {
      copyTags(value.getDefiningOp() && !isAgain ? value.getDefiningOp() : why, op);
      visited.insert(op);
      settled.insert(op);
    }
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
    part.isMade &= layoutOfValue(operand).isMade;
  }
  OpBuilder builder(maker);
  builder.setInsertionPointAfter(maker);
  Operation *made = builder.clone(*maker);
  made->setOperands(operands);
  visited.insert(made);
  setPlaces(made, rule, *split, part.isMade);
  set(made->getResult(0), part, layout.parameter);
  replaced.push_back(maker);
  return made->getResult(0);
}

void Propagation::clearPadding(OpOperand &use, RankedTensorType whole, const Layout &layout) {
  if (!isPadded(whole, layout, ranks))
    return;
  OpBuilder builder(use.getOwner());
  builder.setInsertionPointAfterValue(use.get());
  SmallVector<Operation *> made;
  Value cleared = padded(builder, use.get(), whole, layout, ranks, made);
  for (Operation *op : made) {
    copyTags(use.get().getDefiningOp() ? use.get().getDefiningOp() : use.getOwner(), op);
    visited.insert(op);
    settled.insert(op);
  }
  set(cleared, layout, layout.parameter);
  use.set(cleared);
}

LogicalResult Propagation::makeSplit(OpOperand &use, const Layout &layout) {
  if (layoutOfValue(use.get()).isSameSplit(layout))
    return success();
  makeWhole(use, use.getOwner(), "operands lie differently for");
  Value made = remake(use.get(), layout);
  use.set(made ? made : cut(use.getOwner(), use.get(), layout));
  return success();
}

/// Where it is used: a parameter may be released in between.
Value Propagation::cut(Operation *user, Value value, const Layout &layout) {
  OpBuilder builder(user);
  SmallVector<Operation *> ops;
  Value part = cutOut(builder, value, layout, ranks, ops);
  for (Operation *op : ops) {
    copyTags(user, op);
    visited.insert(op);
    settled.insert(op);
  }
  set(part, layout, layout.parameter);
  return part;
}

/// Tells the kernel where its part of a factor lies, and how much of it there is: `spmd.places`, the valid extent of each
/// operand and result. In the update the padding of parts is zeros, and stays so. Of what ranks make alike, it says that it
/// is parts all the same.
void Propagation::setPlaces(Operation *op, const ShardingRule &rule, const FactorSplit &split, bool isMade) {
  bool isPartial = cutOf(rule, split, ranks) == Cut::padded && spmd::phaseOf(op) != "update";
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
    if (layout.isSplit()) {
      if (failed(makeSplit(use, layout)))
        return failure();
      clearPadding(use, cast<RankedTensorType>(gradient.getType()), layout);
      return success();
    }
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
    if (isPartial(use.get()))
      resolve(use.get(), op);
  return success();
}

/// The split that an operand asks for, by its factor; nothing where it must be whole. An error where that would make all
/// ranks do the same work.
FailureOr<std::optional<FactorSplit>> Propagation::splitOf(OpOperand &use, const ShardingRule &rule, StringRef &text) {
  Operation *op = use.getOwner();
  const Layout layout = layoutOfValue(use.get());
  std::optional<FactorSplit> found = factorOf(rule, rule.operands[use.getOperandNumber()], layout);
  text = "a split dim must be whole for";
  if (!found || rule.factors[found->factor].whole || (rule.factors[found->factor].positioned && layout.segments != 1))
    return std::optional<FactorSplit>();
  Cut cut = cutOf(rule, *found, ranks);
  if (isCut(cut))
    return found;
  text = "a dim that the ranks do not divide is part of another for";
  if (cut == Cut::merged || spmd::phaseOf(op) == "backward")
    return std::optional<FactorSplit>();
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    if (auto further = layoutOf(rule, rule.results[index], {found->factor, 1});
        further && isShared(result, further->dim, ranks)) {
      text = "heads that serve several ranks are whole for";
      return std::optional<FactorSplit>();
    }
  InFlightDiagnostic error = op->emitError()
                             << wishes.origin << ": value of 'sharding.tensor' for parameter '" << layout.parameter
                             << "', expected a split that " << ranks << " ranks divide in '" << op->getName()
                             << "' but got extent " << rule.factors[found->factor].size / found->segments;
  error.attachNote(op->getLoc()) << "its sharding rule is " << rule.str();
  error.attachNote(op->getLoc()) << "a 'mesh.tensor' that divides " << rule.factors[found->factor].size / found->segments
                                 << " works, and so does a table that leaves the parameter whole";
  return failure();
}

/// True where the op adds up over the factor for the gradient of a parameter that is split: that is made in parts, out of
/// the whole sequence.
bool Propagation::makesSplitGradient(Operation *op, const ShardingRule &rule, const FactorSplit &split) {
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (hasFactor(rule.results[index], split.factor))
      continue;
    Value value = result;
    while (value.hasOneUse() && value.getUsers().begin()->getNumResults() == 1 &&
           !isa<model::GradientOp>(*value.getUsers().begin()))
      value = value.getUsers().begin()->getResult(0);
    for (Operation *user : value.getUsers())
      if (auto gradient = dyn_cast<model::GradientOp>(user); gradient && splits.contains(gradient.getParameter()))
        return true;
  }
  return false;
}

LogicalResult Propagation::visitRuled(Operation *op, const ShardingRule &rule) {
  std::optional<FactorSplit> split;
  StringRef parameter;
  bool isOfSequence = false;
  // Splits of parameters first: the sequence gives way.
  for (bool ofSequence : {false, true})
    for (OpOperand &use : op->getOpOperands()) {
      const Layout layout = layoutOfValue(use.get());
      if (!layout.isSplit() || layout.ofSequence != ofSequence)
        continue;
      StringRef text;
      FailureOr<std::optional<FactorSplit>> found = splitOf(use, rule, text);
      if (failed(found))
        return failure();
      if (!*found || (split && !(*split == **found))) {
        makeWhole(use, op,
                  !*found      ? text
                  : ofSequence ? "parts of the sequence are made whole for"
                               : "one dim at most is split for");
        continue;
      }
      if (ofSequence && !split && makesSplitGradient(op, rule, **found)) {
        makeWhole(use, op, "the gradient of a split parameter is made in parts by");
        continue;
      }
      split = *found;
      parameter = layout.parameter;
      isOfSequence = ofSequence;
    }
  if (!split)
    return success();
  for (OpOperand &use : op->getOpOperands())
    if (std::optional<Layout> wanted = layoutOf(rule, rule.operands[use.getOperandNumber()], *split)) {
      wanted->parameter = parameter;
      wanted->ofSequence = isOfSequence;
      if (failed(makeSplit(use, *wanted)))
        return failure();
    }
  bool isMade = true;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    isMade &= !hasFactor(rule.operands[index], split->factor) || layoutOfValue(operand).isMade;
  setPlaces(op, rule, *split, isMade);
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (std::optional<Layout> layout = layoutOf(rule, rule.results[index], *split)) {
      layout->ofSequence = isOfSequence;
      layout->isMade = isMade;
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
  // An op that can take no split as it lies, since a factor must be whole or cannot be cut as the ranks are, may have a form
  // that can.
  bool isStuck = false, isTaken = false;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    const Layout &layout = layoutOfValue(operand);
    std::optional<FactorSplit> split = layout.isSplit() ? factorOf(rule, rule.operands[index], layout) : std::nullopt;
    if (!split)
      continue;
    Cut cut = cutOf(rule, *split, ranks);
    isStuck |= rule.factors[split->factor].whole || cut == Cut::unaligned;
    isTaken |= !rule.factors[split->factor].whole && isCut(cut) && !layout.ofSequence;
  }
  if (isStuck && !isTaken)
    if (Operation *first = replaceBySplitForm(op))
      return first;
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

LogicalResult propagate(func::FuncOp function, const Wishes &wishes, Reasons &reasons) {
  return Propagation(function, wishes, reasons).run();
}

} // namespace sluice::tensor
