//===- Relayout.cpp - values brought from one layout into another -------------------------===//

#include "passes/sharding/tensor/Relayout.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spmd.h"
#include "passes/sharding/tensor/Collectives.h"
#include "passes/sharding/tensor/Rows.h"

using namespace mlir;

namespace sluice::tensor {

Relayout::Relayout(func::FuncOp function, const Wishes &wishes, Reasons &reasons)
    : block(function.getBody().front()), wishes(wishes), axis(wishes.axis), reasons(reasons) {
  if (wishes.byRows)
    rows = findRows(function);
}

void Relayout::cutInputs(func::FuncOp function) {
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  for (BlockArgument input : inputsOfRows(function)) {
    auto type = cast<RankedTensorType>(input.getType());
    if (input.use_empty())
      continue;
    Layout part = partOfTokens(type, 0);
    SmallVector<Operation *> made;
    Value mine = cutOut(builder, input, part, axis, made);
    settle(made, nullptr);
    // Of the whole's type like every value on the way, until the end.
    auto shaped = model::ReshapeOp::create(builder, input.getLoc(), type, mine);
    close(shaped);
    roots.insert(shaped);
    set(shaped, part, "");
    input.replaceUsesWithIf(shaped, [&](OpOperand &use) { return !visited.contains(use.getOwner()); });
    noteCut(shaped, input);
  }
}

/// Who wants all of it has it.
void Relayout::noteCut(Value part, Value all) {
  for (unsigned again : {0U, 1U})
    gathered[{part, again}] = all;
}

void Relayout::set(Value value, Layout layout, StringRef parameter) {
  layout.parameter = parameter;
  if (layout.kind == Layout::Kind::whole)
    layouts.erase(value);
  else
    layouts[value] = layout;
}

void Relayout::settle(ArrayRef<Operation *> made, Operation *like) {
  for (Operation *op : made) {
    if (like)
      copyTags(like, op);
    visited.insert(op);
    settled.insert(op);
  }
}

std::string ruleText(Operation *op) {
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  std::string text = op->getName().getStringRef().str();
  // The norm of all gradients has a factor for each dim of the model.
  if (op->getNumOperands() > 8)
    return text + " of " + std::to_string(op->getNumOperands()) + " operands";
  if (ruled) {
    text += ' ';
    text += ruled.getShardingRule().str();
  }
  return text;
}

/// The rows; or, of rows, their places in the sequence and features, the places. No gradient of a parameter.
std::optional<std::int64_t> Relayout::dimOfTokens(Value partial) const {
  auto type = cast<RankedTensorType>(partial.getType());
  if (of(partial).reduction != PartialReduction::sum || llvm::any_of(partial.getUsers(), [](Operation *user) {
        return isa<model::GradientOp>(user) || model::phaseOf(user) == Phase::update;
      }))
    return std::nullopt;
  if (auto found = rows.find(partial); found != rows.end())
    return found->second;
  if (wishes.bySequence && type.getRank() == 3 && type.getDimSize(1) > 1 &&
      (!wishes.sequence || type.getDimSize(1) == wishes.sequence))
    return 1;
  return std::nullopt;
}

Layout Relayout::partOfTokens(RankedTensorType whole, std::int64_t dim) const {
  Layout part;
  part.kind = Layout::Kind::split;
  part.dim = dim;
  part.chunk = chunkOf(whole.getDimSize(dim), axis.ranks);
  part.ofTokens = true;
  return part;
}

Value Relayout::complete(Value partial) {
  PartialReduction reduction = of(partial).reduction;
  Operation *maker = partial.getDefiningOp();
  OpBuilder builder(maker->getContext());
  builder.setInsertionPointAfter(maker);
  // What the completion is made of.
  SmallVector<Operation *> made;
  Layout part;
  if (std::optional<std::int64_t> dim = dimOfTokens(partial))
    part = partOfTokens(cast<RankedTensorType>(partial.getType()), *dim);
  Value value = part.isSplit() ? scattered(builder, partial, part, axis, made)
                               : completed(builder, partial, reduction, axis, made);
  settle(made, maker);
  const std::string named = " '" + axis.name.str() + "': ";
  for (Operation *op : made)
    if (auto start = dyn_cast<spmd::CollectiveOpInterface>(op))
      reasons.add(maker->getLoc(),
                  stringifyCollectiveKind(*start.getKind()).str() + " over" + named + "a split dim is reduced by " + ruleText(maker) +
                      (part.isSplit() ? ", and what follows takes parts of the " +
                                            std::string(rows.contains(partial) ? "rows" : "sequence")
                                      : ""));
  if (part.isSplit()) {
    // Of the whole's type like every value on the way, until the end.
    auto shaped = model::ReshapeOp::create(builder, maker->getLoc(), cast<RankedTensorType>(partial.getType()), value);
    copyTags(maker, shaped);
    visited.insert(shaped);
    value = shaped.getResult();
    roots.insert(value);
    set(value, part, of(partial).parameter);
  }
  if (Attribute ids = maker->getAttr(model::idsName); ids && maker->getNumResults() == 1)
    value.getDefiningOp()->setAttr(model::idsName, ids);
  partial.replaceUsesWithIf(value, [&](OpOperand &use) { return !visited.contains(use.getOwner()); });
  return value;
}

static std::int64_t elementsOf(Value value) { return cast<ShapedType>(value.getType()).getNumElements(); }

/// True for an op that makes each element out of those in the same place, or repeats them.
static bool isPlain(Operation *op) {
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

/// The fewest elements to gather for all rows of the value: its own, or those that it is made of.
std::int64_t Relayout::leastElements(Value value, unsigned ops) const {
  if (!of(value).isSplit() || (gathered.contains({value, 0}) && gathered.contains({value, 1})))
    return 0;
  Operation *maker = value.getDefiningOp();
  if (ops == 0 || !of(value).ofTokens || roots.contains(value) || settled.contains(maker) || !isPlain(maker) ||
      llvm::any_of(maker->getOperands(), [&](Value operand) { return of(operand).isSplit() && !of(operand).ofTokens; }))
    return elementsOf(value);
  std::int64_t total = 0;
  for (Value operand : maker->getOperands())
    total += leastElements(operand, ops - 1);
  return std::min(total, elementsOf(value));
}

bool Relayout::isLessThanMade(Value value) const {
  return leastElements(value, /*ops=*/8) < elementsOf(value);
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
  bool isAgain = layout.ofTokens && model::phaseOf(why) == Phase::backward;
  std::pair<Value, unsigned> key(value, isAgain ? 1U : 0U);
  Value known = gathered.lookup(key);
  if (!known) {
    OpBuilder builder(why);
    if (!isAgain)
      builder.setInsertionPointAfterValue(value);
    SmallVector<Operation *> made;
    bool isMadeAgain = false;
    // Of a window, what it is a window of: others may want that as well. Of what is made of less, that.
    Operation *maker = layout.ofTokens ? value.getDefiningOp() : nullptr;
    isMadeAgain = maker && isLessThanMade(value);
    if (maker && (isMadeAgain || (isa<ViewOpInterface>(maker) && maker->getNumResults() == 1 &&
                                  of(maker->getOperand(0)).ofTokens))) {
      made.push_back(builder.clone(*maker));
      made.back()->removeAttr(spmd::placesName);
      copyTags(isAgain ? why : maker, made.back());
      for (OpOperand &operand : made.back()->getOpOperands())
        if (of(operand.get()).ofTokens)
          makeWhole(operand, made.back(), text);
      known = made.back()->getResult(0);
    } else {
      known = gatheredWhole(builder, value, layout, axis, made);
      reasons.add(why->getLoc(), ("all_gather over '" + axis.name + "': " + text + " " + ruleText(why)).str());
    }
    gathered[key] = known;
    settle(made, value.getDefiningOp() && !isAgain ? value.getDefiningOp() : why);
    // A part of it is better made by itself.
    if (isMadeAgain)
      settled.erase(made.front());
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
  if (!split || rule.factors[split->factor].whole || !isCut(cutOf(rule, *split, axis.ranks)) ||
      (rule.factors[split->factor].positioned && layout.segments != 1) ||
      !canPlace(maker, rule, *split, /*isMade=*/true, axis))
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
  setPlaces(made, rule, *split, part.isMade, axis);
  set(made->getResult(0), part, layout.parameter);
  replaced.insert(maker);
  return made->getResult(0);
}

void Relayout::clearPadding(OpOperand &use, RankedTensorType whole, const Layout &layout, bool whereRead) {
  if (!isPadded(whole, layout, axis.ranks))
    return;
  OpBuilder builder(use.getOwner());
  Operation *maker = whereRead ? nullptr : use.get().getDefiningOp();
  if (!whereRead)
    builder.setInsertionPointAfterValue(use.get());
  SmallVector<Operation *> made;
  Value cleared = padded(builder, use.get(), whole, layout, axis, made);
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
  Value part = cutOut(builder, value, layout, axis, ops);
  settle(ops, user);
  set(part, layout, layout.parameter);
  noteCut(part, value);
  return part;
}

/// The places that the op's kernel needs to be told; none where it needs none.
static SmallVector<Attribute> placesFor(Operation *op, const ShardingRule &rule, const FactorSplit &split, bool isMade,
                                        const Axis &axis) {
  SmallVector<Attribute> places;
  Cut cut = cutOf(rule, split, axis.ranks);
  if (cut == Cut::merged)
    return places;
  bool isPartial = cut == Cut::padded && model::phaseOf(op) != Phase::update;
  if (!rule.factors[split.factor].positioned && !isPartial && !(isMade && split.segments == 1))
    return places;
  Builder builder(op->getContext());
  auto add = [&](const TensorFactors &tensor) {
    std::optional<Layout> layout = layoutOf(rule, tensor, split);
    std::int64_t total = 1;
    if (layout)
      for (unsigned factor : tensor[layout->dim])
        total *= rule.factors[factor].size;
    places.push_back(layout ? Attribute(placeOf(op->getContext(), *layout, tensor.size(), total, axis)) : Attribute(builder.getUnitAttr()));
  };
  for (const TensorFactors &tensor : rule.operands)
    add(tensor);
  for (const TensorFactors &tensor : rule.results)
    add(tensor);
  return places;
}

bool canPlace(Operation *op, const ShardingRule &rule, const FactorSplit &split, bool isMade, const Axis &axis) {
  auto told = op->getAttrOfType<ArrayAttr>(spmd::placesName);
  if (!told)
    return true;
  for (auto [before, now] : llvm::zip(told, placesFor(op, rule, split, isMade, axis)))
    if (isa<spmd::ShardingAttr>(before) && isa<spmd::ShardingAttr>(now))
      return false;
  return true;
}

void setPlaces(Operation *op, const ShardingRule &rule, const FactorSplit &split, bool isMade, const Axis &axis) {
  SmallVector<Attribute> places = placesFor(op, rule, split, isMade, axis);
  if (places.empty())
    return;
  if (auto told = op->getAttrOfType<ArrayAttr>(spmd::placesName))
    for (auto [index, before] : llvm::enumerate(told))
      if (isa<spmd::ShardingAttr>(before))
        places[index] = before;
  op->setAttr(spmd::placesName, ArrayAttr::get(op->getContext(), places));
}

void Relayout::finish() {
  for (Operation *op : llvm::reverse(replaced.getArrayRef()))
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
