//===- Propagate.cpp - splits flow through an entry function -----------------------------===//
//
// One pass in program order: what an op's rule asks of its operands, and how its results lie by it. Until the end the types
// of all values are those of whole tensors, as the rules want them; layouts stand beside.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/tensor/Propagate.h"

#include "dialect/model/Model.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spmd.h"
#include "passes/sharding/tensor/Collectives.h"
#include "passes/sharding/tensor/Heads.h"
#include "passes/sharding/tensor/Relayout.h"

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
      : function(function), block(function.getBody().front()), wishes(wishes), splits(wishes.splits), axis(wishes.axis), ranks(axis.ranks),
        values(function, wishes, reasons), symbols(function->getParentOfType<ModuleOp>()) {}

  LogicalResult run() {
    if (wishes.byRows)
      values.cutInputs(function);
    for (Operation *op = &block.front(); op;) {
      if (values.isClosed(op)) {
        op = op->getNextNode();
        continue;
      }
      FailureOr<Operation *> next = visit(op);
      if (failed(next))
        return failure();
      op = *next;
    }
    values.finish();
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

  FailureOr<std::optional<FactorSplit>> splitOf(OpOperand &use, const ShardingRule &rule, StringRef &text);
  bool makesSplitGradient(Operation *op, const ShardingRule &rule, const FactorSplit &split);
  bool takesDense(Operation *op, const ShardingRule &rule, const FactorSplit &split);
  void clearDense(Operation *op, const ShardingRule &rule, const FactorSplit &split);
  LogicalResult refusePlaces(Operation *op);

  func::FuncOp function;
  Block &block;
  const Wishes &wishes;
  const ParameterSplits &splits;
  Axis axis;
  std::int64_t ranks;
  Relayout values;
  /// Of the module; a search through it for each read would grow with the square of the blocks.
  SymbolTable symbols;
};

} // namespace

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
  auto splitOf = [&](StringRef parameter, Type type) -> Layout {
    auto found = splits.find(parameter);
    auto declared = symbols.lookup<model::ParameterOp>(parameter);
    // A state of another shape than its parameter's is not laid out as it is.
    bool isLike = declared && cast<ShapedType>(declared.getType()).getShape() == cast<ShapedType>(type).getShape();
    return found == splits.end() || !isLike ? Layout() : found->second;
  };
  if (auto read = dyn_cast<model::ReadOp>(op)) {
    const Layout layout = splitOf(read.getParameter(), read.getType());
    values.set(read.getValue(), layout, layout.parameter);
    return success();
  }
  if (auto gradient = dyn_cast<model::GradientOp>(op)) {
    const Layout layout = splitOf(gradient.getParameter(), gradient.getType());
    OpOperand &use = gradient->getOpOperand(0);
    values.set(gradient.getMean(), layout, layout.parameter);
    if (layout.isSplit()) {
      values.makeSplit(use, layout);
      values.clearPadding(use, cast<RankedTensorType>(gradient.getType()), layout, /*whereRead=*/false);
      return success();
    }
    // Terms are added up with the unit's gradients, where those cross ranks.
    if (const Layout local = values.of(use.get()); local.isPartial() && local.reduction == PartialReduction::sum) {
      SmallVector<Attribute> axes;
      if (auto before = op->getAttrOfType<ArrayAttr>(termName))
        axes.append(before.begin(), before.end());
      axes.push_back(StringAttr::get(op->getContext(), axis.name));
      op->setAttr(termName, ArrayAttr::get(op->getContext(), axes));
      return success();
    }
    values.makeWhole(use, op, "the gradient of a whole parameter is whole for");
    return success();
  }
  if (auto write = dyn_cast<model::WriteOp>(op)) {
    const Layout layout = splitOf(write.getParameter(), write.getValue().getType());
    if (layout.isSplit()) {
      values.makeSplit(write->getOpOperand(0), layout);
      return success();
    }
  }
  for (OpOperand &use : op->getOpOperands())
    values.makeWhole(use, op, "operands are whole for");
  return success();
}

/// Partial operands are completed, unless the op is linear in them and nothing else.
LogicalResult Propagation::takePartials(Operation *op, const ShardingRule &rule, bool &staysPartial) {
  auto isPartial = [&](Value value) { return values.of(value).isPartial(); };
  staysPartial = false;
  if (llvm::none_of(op->getOperands(), isPartial))
    return success();
  if (rule.linear && llvm::all_of(op->getOperands(), isPartial) &&
      llvm::all_of(op->getOperands(),
                   [&](Value value) { return values.of(value).reduction == PartialReduction::sum; })) {
    staysPartial = true;
    return success();
  }
  for (OpOperand &use : op->getOpOperands())
    if (isPartial(use.get()))
      values.complete(use.get());
  return success();
}

/// The split that an operand asks for, by its factor; nothing where it must be whole. An error where that would make all
/// ranks do the same work.
FailureOr<std::optional<FactorSplit>> Propagation::splitOf(OpOperand &use, const ShardingRule &rule, StringRef &text) {
  Operation *op = use.getOwner();
  const Layout layout = values.of(use.get());
  std::optional<FactorSplit> found = factorOf(rule, rule.operands[use.getOperandNumber()], layout);
  text = "a split dim must be whole for";
  if (!found || rule.factors[found->factor].whole || (rule.factors[found->factor].positioned && layout.segments != 1))
    return std::optional<FactorSplit>();
  Cut cut = cutOf(rule, *found, ranks);
  if (isCut(cut) || (cut == Cut::merged && !layout.ofTokens && takesDense(op, rule, *found)))
    return found;
  text = "a dim that the ranks do not divide is part of another for";
  // What gives way is made whole.
  if (cut == Cut::merged || layout.ofTokens || spmd::phaseOf(op) == "backward")
    return std::optional<FactorSplit>();
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    if (auto further = layoutOf(rule, rule.results[index], {found->factor, 1});
        further && isShared(result, further->dim, ranks)) {
      text = "heads that serve several ranks are whole for";
      return std::optional<FactorSplit>();
    }
  std::int64_t piece = inside(rule, rule.operands[use.getOperandNumber()][layout.dim], found->factor);
  InFlightDiagnostic error = op->emitError()
                             << wishes.origin << ": value of '" << wishes.key << "' for parameter '" << layout.parameter
                             << "', expected parts in whole pieces of " << piece << " for '" << op->getName()
                             << "' but got parts of " << layout.chunk;
  error.attachNote(op->getLoc()) << "its sharding rule is " << rule.str();
  error.attachNote(op->getLoc()) << "a 'mesh." << axis.name
                               << "' that divides all that the dim is taken apart into works, and so does a table that "
                                  "leaves the parameter whole";
  return failure();
}

/// True where the op can take parts that are no windows as they lie, padding and all: what has the factor throughout keeps
/// padding apart, a sum of products over it takes zeros there, and in the update there are zeros.
bool Propagation::takesDense(Operation *op, const ShardingRule &rule, const FactorSplit &split) {
  if (split.chunk == 0 || rule.factors[split.factor].positioned)
    return false;
  auto has = [&](const TensorFactors &tensor) { return hasFactor(tensor, split.factor); };
  if (llvm::all_of(rule.results, has) || spmd::phaseOf(op) == "update")
    return true;
  unsigned terms = 0;
  for (auto [tensor, operand] : llvm::zip(rule.operands, op->getOperands())) {
    terms += has(tensor);
    if (has(tensor) && !isa<FloatType>(getElementTypeOrSelf(operand.getType())))
      return false;
  }
  return terms == 2 && rule.reduction == PartialReduction::sum && llvm::none_of(rule.results, has);
}

/// The parts of another axis lie along another dim, and the kernel is to be told of both.
LogicalResult Propagation::refusePlaces(Operation *op) {
  InFlightDiagnostic error = op->emitError()
                             << wishes.origin << ": value of '" << wishes.key << "', expected '" << op->getName()
                             << "', which asks where its part lies, to have parts along one axis but got a second, '"
                             << axis.name << "'";
  error.attachNote(op->getLoc()) << "its sharding rule is " << cast<ShardingRuleOpInterface>(op).getShardingRule().str();
  return failure();
}

/// Makes the padding of an op's dense operands what the op needs: there, of windows, which leave it unwritten, and zeros,
/// where it is summed over.
void Propagation::clearDense(Operation *op, const ShardingRule &rule, const FactorSplit &split) {
  bool isSummed = llvm::none_of(rule.results, [&](const TensorFactors &tensor) { return hasFactor(tensor, split.factor); });
  if (spmd::phaseOf(op) == "update")
    return;
  for (OpOperand &use : op->getOpOperands()) {
    const TensorFactors &tensor = rule.operands[use.getOperandNumber()];
    std::optional<Layout> layout = layoutOf(rule, tensor, split);
    if (!layout || (layout->segments != 1 && !isSummed))
      continue;
    layout->parameter = values.of(use.get()).parameter;
    SmallVector<std::int64_t> shape;
    for (const auto &dim : tensor) {
      shape.push_back(1);
      for (unsigned factor : dim)
        shape.back() *= rule.factors[factor].size;
    }
    values.clearPadding(use, RankedTensorType::get(shape, getElementTypeOrSelf(use.get().getType())), *layout,
                        /*whereRead=*/true);
  }
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
  bool isOfTokens = false;
  // Splits of parameters first: the sequence gives way.
  for (bool ofTokens : {false, true})
    for (OpOperand &use : op->getOpOperands()) {
      const Layout layout = values.of(use.get());
      if (!layout.isSplit() || layout.ofTokens != ofTokens)
        continue;
      StringRef text;
      FailureOr<std::optional<FactorSplit>> found = splitOf(use, rule, text);
      if (failed(found))
        return failure();
      if (!*found || (split && !(*split == **found))) {
        values.makeWhole(use, op,
                  !*found      ? text
                  : ofTokens ? (wishes.byRows ? "rows in parts are made whole for" : "parts of the sequence are made whole for")
                               : "one dim at most is split for");
        continue;
      }
      if (ofTokens && !split && makesSplitGradient(op, rule, **found)) {
        values.makeWhole(use, op, "the gradient of a split parameter is made in parts by");
        continue;
      }
      split = *found;
      parameter = layout.parameter;
      isOfTokens = ofTokens;
    }
  if (!split)
    return success();
  for (OpOperand &use : op->getOpOperands())
    if (std::optional<Layout> wanted = layoutOf(rule, rule.operands[use.getOperandNumber()], *split)) {
      wanted->parameter = parameter;
      wanted->ofTokens = isOfTokens;
      values.makeSplit(use, *wanted);
    }
  if (cutOf(rule, *split, ranks) == Cut::merged)
    clearDense(op, rule, *split);
  bool isMade = true;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    isMade &= !hasFactor(rule.operands[index], split->factor) || values.of(operand).isMade;
  if (!canPlace(op, rule, *split, isMade, axis))
    return refusePlaces(op);
  setPlaces(op, rule, *split, isMade, axis);
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (std::optional<Layout> layout = layoutOf(rule, rule.results[index], *split)) {
      layout->ofTokens = isOfTokens;
      layout->isMade = isMade;
      values.set(result, *layout, parameter);
      continue;
    }
    if (rule.reduction == PartialReduction::none)
      return op->emitOpError("sharding rule, expected a reduction for a factor without result but got none");
    Layout partial;
    partial.kind = Layout::Kind::partial;
    partial.reduction = rule.reduction;
    values.set(result, partial, parameter);
  }
  return success();
}

/// Terms of operands that every rank has whole are combined once, behind the terms of those that are split.
FailureOr<Operation *> Propagation::visitAdditive(Operation *op, const ShardingRule &rule) {
  SmallVector<Value> parts, wholes;
  StringRef parameter;
  for (Value operand : op->getOperands()) {
    const Layout &layout = values.of(operand);
    (layout.isSplit() ? parts : wholes).push_back(operand);
    if (layout.isSplit())
      parameter = layout.parameter;
  }
  if (parts.empty())
    return op->getNextNode();
  Layout partial;
  partial.kind = Layout::Kind::partial;
  partial.reduction = rule.reduction;
  values.set(op->getResult(0), partial, parameter);
  Value terms;
  if (!wholes.empty()) {
    OpBuilder builder(op);
    Operation *others = builder.clone(*op);
    others->removeAttr(spmd::idsName);
    others->setOperands(wholes);
    op->setOperands(parts);
    values.close(others);
    terms = others->getResult(0);
  }
  Value value = values.complete(op->getResult(0));
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
  values.close(sum);
  value.replaceAllUsesExcept(sum->getResult(0), sum);
  return sum->getNextNode();
}

FailureOr<Operation *> Propagation::visit(Operation *op) {
  values.open(op);
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  // What another axis has put around its collectives is of its shards.
  auto isShard = [](Type type) { return spmd::validOf(type) != nullptr; };
  if (!ruled || llvm::any_of(op->getOperandTypes(), isShard) || llvm::any_of(op->getResultTypes(), isShard)) {
    if (failed(visitUnruled(op)))
      return failure();
    values.close(op);
    return op->getNextNode();
  }
  ShardingRule rule = ruled.getShardingRule();
  bool staysPartial = false;
  if (failed(takePartials(op, rule, staysPartial)))
    return failure();
  if (staysPartial) {
    for (Value result : op->getResults())
      values.set(result, values.of(op->getOperand(0)), values.of(op->getOperand(0)).parameter);
    values.close(op);
    return op->getNextNode();
  }
  if (rule.additive) {
    values.close(op);
    return visitAdditive(op, rule);
  }
  // An op that can take no split as it lies, since a factor must be whole or cannot be cut as the ranks are, may have a form
  // that can.
  bool isStuck = false, isTaken = false;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    const Layout &layout = values.of(operand);
    std::optional<FactorSplit> split = layout.isSplit() ? factorOf(rule, rule.operands[index], layout) : std::nullopt;
    if (!split)
      continue;
    Cut cut = cutOf(rule, *split, ranks);
    isStuck |= rule.factors[split->factor].whole || cut == Cut::unaligned;
    isTaken |= !rule.factors[split->factor].whole && isCut(cut) && !layout.ofTokens;
  }
  if (isStuck && !isTaken)
    if (Operation *first = replaceBySplitForm(op))
      return first;
  if (failed(visitRuled(op, rule)))
    return failure();
  values.close(op);
  return op->getNextNode();
}

LogicalResult propagate(func::FuncOp function, const Wishes &wishes, Reasons &reasons) {
  return Propagation(function, wishes, reasons).run();
}

} // namespace sluice::tensor
