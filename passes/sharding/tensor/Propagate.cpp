//===- Propagate.cpp - splits flow through an entry function -----------------------------===//
//
// One pass in program order: each op's operands are brought into the split that it is computed in (SplitChoice.h), and
// its results lie by its rule. Until the end the types of all values are those of whole tensors, as the rules want them;
// layouts stand beside.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/tensor/Propagate.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spmd.h"
#include "passes/sharding/tensor/Collectives.h"
#include "passes/sharding/tensor/Relayout.h"
#include "passes/sharding/tensor/SplitChoice.h"

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
  auto ids = op->getAttrOfType<DenseI64ArrayAttr>(model::idsName);
  for (auto [index, value] : llvm::enumerate(*values))
    if (ids && value.getDefiningOp()->getNumResults() == 1)
      value.getDefiningOp()->setAttr(model::idsName,
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
      if (auto before = op->getAttrOfType<ArrayAttr>(spmd::termName))
        axes.append(before.begin(), before.end());
      axes.push_back(StringAttr::get(op->getContext(), axis.name));
      op->setAttr(spmd::termName, ArrayAttr::get(op->getContext(), axes));
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
  if (model::phaseOf(op) == Phase::update)
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

LogicalResult Propagation::visitRuled(Operation *op, const ShardingRule &rule) {
  FailureOr<SplitChoice> choice = chooseSplit(op, rule, values, wishes);
  if (failed(choice))
    return failure();
  for (auto [use, text] : choice->whole)
    values.makeWhole(*use, op, text);
  if (!choice->split)
    return success();
  const FactorSplit &split = *choice->split;
  for (OpOperand &use : op->getOpOperands())
    if (std::optional<Layout> wanted = layoutOf(rule, rule.operands[use.getOperandNumber()], split)) {
      wanted->parameter = choice->parameter;
      wanted->ofTokens = choice->ofTokens;
      values.makeSplit(use, *wanted);
    }
  if (cutOf(rule, split, ranks) == Cut::merged)
    clearDense(op, rule, split);
  bool isMade = true;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    isMade &= !hasFactor(rule.operands[index], split.factor) || values.of(operand).isMade;
  if (!canPlace(op, rule, split, isMade, axis))
    return refusePlaces(op);
  setPlaces(op, rule, split, isMade, axis);
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (std::optional<Layout> layout = layoutOf(rule, rule.results[index], split)) {
      layout->ofTokens = choice->ofTokens;
      layout->isMade = isMade;
      values.set(result, *layout, choice->parameter);
      continue;
    }
    if (rule.reduction == PartialReduction::none)
      return op->emitOpError("sharding rule, expected a reduction for a factor without result but got none");
    Layout partial;
    partial.kind = Layout::Kind::partial;
    partial.reduction = rule.reduction;
    values.set(result, partial, choice->parameter);
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
    others->removeAttr(model::idsName);
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
  value.getDefiningOp()->removeAttr(model::idsName);
  if (Attribute ids = op->getAttr(model::idsName))
    sum->setAttr(model::idsName, ids);
  values.close(sum);
  value.replaceAllUsesExcept(sum->getResult(0), sum);
  return sum->getNextNode();
}

FailureOr<Operation *> Propagation::visit(Operation *op) {
  values.open(op);
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  // What another axis has put around its collectives is of its shards.
  auto isShard = [](Type type) { return spmd::shardingOf(type) != nullptr; };
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
  if (isStuck(op, rule, values, ranks))
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
