//===- PropagateShardings.cpp - shardings of values by the rules of ops ---------------------===//
//
// One walk in program order: each op is split on the factor of its rule that its operands' shardings choose
// (FactorChoice.h), and its results are sharded by the rule. All decisions are stated on the IR: `spmd.shardings`,
// `spmd.operand_shardings` where an op takes an operand otherwise, and a reshard after an op whose partial results are
// completed, since later ops depend on the sharding that they are completed to. Types stay global.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/Inline.h"
#include "passes/sharding/tensor/Collectives.h"
#include "passes/sharding/tensor/FactorChoice.h"
#include "passes/sharding/tensor/Heads.h"
#include "passes/sharding/tensor/Rows.h"

namespace sluice {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::tensor;

namespace {

class Propagation {
public:
  Propagation(func::FuncOp function, const AxisOptions &options, CollectiveRemarks &remarks)
      : function(function), block(function.getBody().front()), options(options), axis(options.axis.name),
        remarks(remarks), symbols(function->getParentOfType<ModuleOp>()) {}

  LogicalResult run();

private:
  FailureOr<Operation *> visit(Operation *op);
  void visitUnruled(Operation *op);
  void visitGradient(model::GradientOp op);
  LogicalResult visitRuled(Operation *op, const ShardingRule &rule);
  LogicalResult verifySharedHeads(OpOperand &use, const ShardingRule &rule);
  FailureOr<Operation *> visitAdditive(Operation *op, const ShardingRule &rule);
  bool takesPartial(Operation *op, const ShardingRule &rule);
  /// Replaces the op by its shardable form: the first of the new ops, or null where there is none.
  Operation *replaceByShardableForm(Operation *op);

  /// Reshards the inputs that are sharded by rows: each rank has them in full.
  void shardInputs();
  /// Completes a partial value directly after its op, for all readers that are not visited yet.
  Value complete(Value partial);
  /// The dim of a partial value that is sharded from here on, as its readers can compute on a part of it.
  std::optional<std::int64_t> dimOfTokens(Value partial) const;
  AxisSharding shardingOfTokens(RankedTensorType type, std::int64_t dim) const;
  /// The sharding of a parameter, for a value with its shape.
  AxisSharding ofParameter(StringRef parameter, Type type) const;

  AxisSharding of(Value value) const { return shardingOf(value, axis); }
  SmallVector<AxisSharding> ofOperands(Operation *op) const {
    return llvm::map_to_vector(op->getOperands(), [&](Value operand) { return of(operand); });
  }

  func::FuncOp function;
  Block &block;
  const AxisOptions &options;
  StringRef axis;
  CollectiveRemarks &remarks;
  /// A lookup in the module for each read would be quadratic in the number of blocks.
  SymbolTable symbols;
  /// The dims with the rows of inputs, if these are sharded.
  llvm::DenseMap<Value, std::int64_t> rows;
  llvm::DenseSet<Operation *> visited;
};

struct PropagateShardings : sluice::impl::PropagateShardingsBase<PropagateShardings> {
  using PropagateShardingsBase::PropagateShardingsBase;
  void runOnOperation() override;
};

} // namespace

LogicalResult Propagation::run() {
  shardInputs();
  for (Operation *op = &block.front(); op;) {
    if (visited.contains(op)) {
      op = op->getNextNode();
      continue;
    }
    FailureOr<Operation *> next = visit(op);
    if (failed(next))
      return failure();
    op = *next;
  }
  return success();
}

void Propagation::shardInputs() {
  SmallVector<BlockArgument> inputs = shardedInputs(function, axis);
  if (inputs.empty())
    return;
  rows = findRows(function);
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  for (BlockArgument input : inputs) {
    if (input.use_empty())
      continue;
    auto sharding = function.getArgAttrOfType<spmd::ShardingAttr>(input.getArgNumber(), spmd::shardingName);
    auto type = cast<RankedTensorType>(input.getType());
    auto reshard = spmd::ReshardOp::create(builder, input.getLoc(), input,
                                           spmd::ShardingAttr::replicated(type.getContext(), type.getRank()), sharding);
    visited.insert(reshard);
    input.replaceAllUsesExcept(reshard.getResults()[0], reshard);
  }
}

/// The dim of rows; or that of the sequence, of a value with rows, sequence and features. No gradient of a parameter
/// has one.
std::optional<std::int64_t> Propagation::dimOfTokens(Value partial) const {
  auto type = cast<RankedTensorType>(partial.getType());
  if (of(partial).reduction != PartialReduction::sum || llvm::any_of(partial.getUsers(), [](Operation *user) {
        return isa<model::GradientOp>(user) || model::phaseOf(user) == Phase::update;
      }))
    return std::nullopt;
  if (auto found = rows.find(partial); found != rows.end())
    return found->second;
  if (options.bySequence && type.getRank() == 3 && type.getDimSize(1) > 1 &&
      (!options.sequence || type.getDimSize(1) == options.sequence))
    return 1;
  return std::nullopt;
}

AxisSharding Propagation::shardingOfTokens(RankedTensorType type, std::int64_t dim) const {
  AxisSharding sharding;
  sharding.kind = AxisSharding::Kind::sharded;
  sharding.dim = dim;
  sharding.chunk = chunkOf(type.getDimSize(dim), options.axis.ranks);
  sharding.priority = 1;
  return sharding;
}

Value Propagation::complete(Value partial) {
  Operation *op = partial.getDefiningOp();
  auto type = cast<RankedTensorType>(partial.getType());
  AxisSharding source = of(partial), destination;
  std::string reason = " over '" + axis.str() + "': a split dim is reduced by " + ruleText(op);
  if (std::optional<std::int64_t> dim = dimOfTokens(partial)) {
    destination = shardingOfTokens(type, *dim);
    remarks.add(op->getLoc(), "reduce_scatter" + reason + ", and what follows takes parts of the " +
                                  (rows.contains(partial) ? "rows" : "sequence"));
  } else {
    // A logsumexp takes a second reduction, of the maximum.
    for (int times = source.reduction == PartialReduction::logsumexp ? 2 : 1; times > 0; --times)
      remarks.add(op->getLoc(), "all_reduce" + reason);
  }
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto reshard = spmd::ReshardOp::create(builder, op->getLoc(), partial, withAxis(nullptr, source, axis, type),
                                         withAxis(nullptr, destination, axis, type));
  copyTags(op, reshard);
  visited.insert(reshard);
  if (Attribute ids = op->getAttr(model::idsName); ids && op->getNumResults() == 1)
    reshard->setAttr(model::idsName, ids);
  Value value = reshard.getResults()[0];
  partial.replaceUsesWithIf(value, [&](OpOperand &use) { return !visited.contains(use.getOwner()); });
  return value;
}

Operation *Propagation::replaceByShardableForm(Operation *op) {
  OpBuilder builder(op);
  Operation *before = op->getPrevNode();
  FailureOr<SmallVector<Value>> values = cast<ShardingRuleOpInterface>(op).buildShardableForm(builder);
  if (failed(values))
    return nullptr;
  Operation *first = before ? before->getNextNode() : &block.front();
  for (Operation *created = first; created != op; created = created->getNextNode())
    copyTags(op, created);
  auto ids = op->getAttrOfType<DenseI64ArrayAttr>(model::idsName);
  for (auto [index, value] : llvm::enumerate(*values))
    if (ids && value.getDefiningOp()->getNumResults() == 1)
      value.getDefiningOp()->setAttr(model::idsName,
                                     DenseI64ArrayAttr::get(op->getContext(), ids.asArrayRef().slice(index, 1)));
  op->replaceAllUsesWith(*values);
  op->erase();
  return first;
}

AxisSharding Propagation::ofParameter(StringRef parameter, Type type) const {
  auto found = options.parameters.find(parameter);
  auto declared = symbols.lookup<model::ParameterOp>(parameter);
  // A state of another shape than its parameter's is replicated.
  bool isLike = declared && cast<ShapedType>(declared.getType()).getShape() == cast<ShapedType>(type).getShape();
  return found == options.parameters.end() || !isLike ? AxisSharding() : found->second;
}

void Propagation::visitGradient(model::GradientOp op) {
  AxisSharding sharding = ofParameter(op.getParameter(), op.getType());
  Value operand = op->getOperand(0);
  if (sharding.isSharded()) {
    if (of(operand).isPartial())
      complete(operand);
    setTakenShardings(op, sharding, axis);
    setSharding(op->getResult(0), sharding, axis);
    return;
  }
  // The reduction of the unit, which crosses ranks in any case, completes a partial sum.
  if (AxisSharding source = of(operand); source.isPartial() && source.reduction == PartialReduction::sum) {
    auto type = cast<RankedTensorType>(operand.getType());
    auto stated = op->getAttrOfType<ArrayAttr>(spmd::operandShardingsName);
    spmd::ShardingAttr taken =
        withAxis(stated ? cast<spmd::ShardingAttr>(stated[0]) : spmd::ShardingAttr(), source, axis, type);
    op->setAttr(spmd::operandShardingsName, ArrayAttr::get(op->getContext(), {taken}));
    return;
  }
  if (of(operand).isPartial())
    complete(operand);
  setTakenShardings(op, AxisSharding(), axis);
}

/// Parameters and their states are sharded as the parameter is; other ops without a rule take replicated operands.
void Propagation::visitUnruled(Operation *op) {
  if (auto read = dyn_cast<model::ReadOp>(op))
    return setSharding(cast<OpResult>(read.getValue()), ofParameter(read.getParameter(), read.getType()), axis);
  if (auto gradient = dyn_cast<model::GradientOp>(op))
    return visitGradient(gradient);
  for (OpOperand &use : op->getOpOperands())
    if (of(use.get()).isPartial())
      complete(use.get());
  SmallVector<AxisSharding> taken(op->getNumOperands());
  if (auto write = dyn_cast<model::WriteOp>(op))
    taken[0] = ofParameter(write.getParameter(), write.getValue().getType());
  setTakenShardings(op, taken, axis);
}

/// True where the op is linear in its operands together, which are all partial sums. Else partial operands are
/// completed.
bool Propagation::takesPartial(Operation *op, const ShardingRule &rule) {
  auto isPartial = [&](Value value) { return of(value).isPartial(); };
  if (llvm::none_of(op->getOperands(), isPartial))
    return false;
  if (rule.linear && llvm::all_of(op->getOperands(), [&](Value value) {
        return isPartial(value) && of(value).reduction == PartialReduction::sum;
      }))
    return true;
  for (OpOperand &use : op->getOpOperands())
    if (isPartial(use.get()))
      complete(use.get());
  return false;
}

/// The parameter whose sharding reached the value.
static StringRef parameterOf(Value value, StringRef axis) {
  Operation *op = value.getDefiningOp();
  if (auto read = dyn_cast_or_null<model::ReadOp>(op))
    return read.getParameter();
  for (Value operand : op ? ValueRange(op->getOperands()) : ValueRange())
    if (AxisSharding sharding = shardingOf(operand, axis); sharding.isSharded() && !sharding.isOfTokens())
      return parameterOf(operand, axis);
  return {};
}

/// An error where the op takes replicated what a parameter's sharding cuts through, and no later op is split on what
/// the heads serve: all ranks would do the same work.
LogicalResult Propagation::verifySharedHeads(OpOperand &use, const ShardingRule &rule) {
  Operation *op = use.getOwner();
  const AxisSharding sharding = of(use.get());
  const TensorFactors &tensor = rule.operands[use.getOperandNumber()];
  const unsigned factor = factorOf(rule, tensor, sharding)->factor;
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    if (auto further = shardingOf(rule, rule.results[index], {factor, 1});
        further && isShared(result, further->dim, options.axis.ranks))
      return success();
  InFlightDiagnostic error = op->emitError() << options.origin << ": value of '" << options.key << "' for parameter '"
                                             << parameterOf(use.get(), axis) << "', expected parts in whole pieces of "
                                             << inside(rule, tensor[sharding.dim], factor) << " for '" << op->getName()
                                             << "' but got parts of " << sharding.chunk;
  error.attachNote(op->getLoc()) << "its sharding rule is " << rule.str();
  error.attachNote(op->getLoc())
      << "a 'mesh." << axis
      << "' that divides all that the dim is taken apart into works, and so does a table that "
         "leaves the parameter whole";
  return error;
}

LogicalResult Propagation::visitRuled(Operation *op, const ShardingRule &rule) {
  FactorChoice choice = chooseFactor(op, rule, options);
  SmallVector<AxisSharding> taken = ofOperands(op);
  for (auto [use, reason] : choice.replicated) {
    if (reason == ReplicationReason::sharedHeads && failed(verifySharedHeads(*use, rule)))
      return failure();
    taken[use->getOperandNumber()] = {};
  }
  if (!choice.split) {
    setTakenShardings(op, taken, axis);
    return success();
  }
  auto shardingBy = [&](const TensorFactors &tensor) {
    std::optional<AxisSharding> sharding = shardingOf(rule, tensor, *choice.split);
    if (sharding)
      sharding->priority = choice.priority;
    return sharding;
  };
  for (auto [index, tensor] : llvm::enumerate(rule.operands))
    if (std::optional<AxisSharding> sharding = shardingBy(tensor); sharding && !taken[index].isSamePlacement(*sharding))
      taken[index] = *sharding;
  setTakenShardings(op, taken, axis);
  for (OpResult result : op->getResults()) {
    if (std::optional<AxisSharding> sharding = shardingBy(rule.results[result.getResultNumber()])) {
      setSharding(result, *sharding, axis);
      continue;
    }
    if (rule.reduction == PartialReduction::none)
      return op->emitOpError("sharding rule, expected a reduction for a factor without result but got none");
    setSharding(result, AxisSharding::partial(rule.reduction), axis);
  }
  return success();
}

/// Terms of replicated operands are combined once, after the terms of sharded ones.
FailureOr<Operation *> Propagation::visitAdditive(Operation *op, const ShardingRule &rule) {
  SmallVector<Value> parts, replicated;
  for (Value operand : op->getOperands())
    (of(operand).isSharded() ? parts : replicated).push_back(operand);
  if (parts.empty())
    return op->getNextNode();
  Value terms;
  if (!replicated.empty()) {
    OpBuilder builder(op);
    Operation *others = builder.clone(*op);
    others->removeAttr(model::idsName);
    others->setOperands(replicated);
    op->setOperands(parts);
    visited.insert(others);
    terms = others->getResult(0);
  }
  setSharding(op->getResult(0), AxisSharding::partial(rule.reduction), axis);
  Value value = complete(op->getResult(0));
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
  visited.insert(sum);
  value.replaceAllUsesExcept(sum->getResult(0), sum);
  return sum->getNextNode();
}

FailureOr<Operation *> Propagation::visit(Operation *op) {
  std::optional<ShardingRule> found = ruleOf(op);
  if (!found) {
    visitUnruled(op);
    visited.insert(op);
    return op->getNextNode();
  }
  const ShardingRule &rule = *found;
  if (takesPartial(op, rule)) {
    for (OpResult result : op->getResults())
      setSharding(result, of(op->getOperand(0)), axis);
    visited.insert(op);
    return op->getNextNode();
  }
  if (rule.additive) {
    visited.insert(op);
    return visitAdditive(op, rule);
  }
  if (isStuck(op, rule, options.axis))
    if (Operation *first = replaceByShardableForm(op))
      return first;
  if (failed(visitRuled(op, rule)))
    return failure();
  visited.insert(op);
  return op->getNextNode();
}

void PropagateShardings::runOnOperation() {
  ModuleOp module = getOperation();
  if (!isToPartition(module, axis))
    return;
  SmallVector<func::FuncOp> entries = entriesOf(module);
  // A second run changes nothing.
  for (func::FuncOp entry : entries)
    for (Operation &op : entry.front())
      if (op.hasAttr(spmd::shardingsName) || isa<spmd::ReshardOp>(op))
        return;
  FailureOr<Recipe> recipe = recipeFor(module, meshTensor, meshExpert, sequence, experts);
  if (failed(recipe))
    return signalPassFailure();
  AxisOptions options(module, axis, *recipe);
  CollectiveRemarks remarks;
  for (func::FuncOp entry : entries) {
    inlineRecompute(entry.front());
    if (failed(Propagation(entry, options, remarks).run()))
      return signalPassFailure();
  }
  if (options.bySequence && !remarks.has("reduce_scatter"))
    emitRemark(UnknownLoc::get(&getContext()))
        << recipe->origin("sharding.sequence")
        << ": 'sharding.sequence' has no effect where no split completes values of a sequence";
  remarks.emit();
}
