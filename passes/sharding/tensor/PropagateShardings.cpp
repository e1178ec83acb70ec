//===- PropagateShardings.cpp - shardings of values by the rules of ops ---------------------===//
//
// One walk in program order: each op is sharded along the factor of its rule that its operands' shardings choose
// (FactorChoice.h), and its results are sharded by the rule. All decisions are on the IR: `spmd.shardings`,
// `spmd.operand_shardings` where an op requires another sharding than that of the value, and a reshard after an op with
// partial results, since the shardings of later ops depend on its destination. Types stay global.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/Utils.h"
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
        sequence(options.sequenceOf(function)), remarks(remarks), symbols(function->getParentOfType<ModuleOp>()) {}

  LogicalResult run();

private:
  FailureOr<Operation *> visit(Operation *op);
  void visitUnruled(Operation *op);
  void visitGradient(model::GradientOp op);
  LogicalResult visitRuled(Operation *op, const ShardingRule &rule);
  Operation *visitAdditive(Operation *op, const ShardingRule &rule);
  bool acceptsPartial(Operation *op, const ShardingRule &rule);
  void completeOperands(Operation *op) {
    for (OpOperand &use : op->getOpOperands())
      if (of(use.get()).isPartial())
        complete(use.get());
  }
  /// Replaces the op by its shardable form and returns the first new op; null for an op without such a form.
  Operation *replaceByShardableForm(Operation *op);

  /// Reshards the inputs that are sharded by rows: as arguments they are replicated.
  void shardInputs();
  /// Completes a partial value directly after its op, for all readers that are not visited yet.
  Value complete(Value partial);
  /// The dim of rows or of the sequence along which a partial value is sharded when it is completed.
  std::optional<std::int64_t> dimOfTokens(Value partial) const;
  /// The sharding of a parameter, for a value with its shape.
  AxisSharding ofParameter(StringRef parameter, Type type) const;

  AxisSharding of(Value value) const { return shardingOf(value, axis); }

  func::FuncOp function;
  Block &block;
  const AxisOptions &options;
  StringRef axis;
  std::int64_t sequence;
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

/// The dim of rows; or that of the sequence, of a value with rows, sequence and features. Gradients of parameters have
/// neither.
std::optional<std::int64_t> Propagation::dimOfTokens(Value partial) const {
  auto type = cast<RankedTensorType>(partial.getType());
  if (of(partial).reduction != PartialReduction::sum || llvm::any_of(partial.getUsers(), [](Operation *user) {
        return isa<model::GradientOp>(user) || model::phaseOf(user) == Phase::update;
      }))
    return std::nullopt;
  if (auto found = rows.find(partial); found != rows.end())
    return found->second;
  if (options.bySequence && type.getRank() == 3 && type.getDimSize(1) > 1 &&
      (!sequence || type.getDimSize(1) == sequence))
    return 1;
  return std::nullopt;
}

Value Propagation::complete(Value partial) {
  Operation *op = partial.getDefiningOp();
  AxisSharding source = of(partial), destination;
  std::string reason = " over '" + axis.str() + "': " + ruleText(op) + " has a partial result";
  if (std::optional<std::int64_t> dim = dimOfTokens(partial)) {
    std::int64_t extent = cast<RankedTensorType>(partial.getType()).getDimSize(*dim);
    destination = AxisSharding::sharded(*dim, /*segments=*/1, chunkOf(extent, options.axis.ranks), /*priority=*/1);
    remarks.add(op->getLoc(), "reduce_scatter" + reason + ", and the next ops are sharded along the " +
                                  (rows.contains(partial) ? "rows" : "sequence"));
  } else {
    // A logsumexp requires a second reduction, of the maximum.
    for (int times = source.reduction == PartialReduction::logsumexp ? 2 : 1; times > 0; --times)
      remarks.add(op->getLoc(), "all_reduce" + reason);
  }
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto reshard = createReshard(builder, partial, source, destination, axis);
  copyTags(op, reshard);
  visited.insert(reshard);
  if (Attribute ids = op->getAttr(model::idsName); ids && op->getNumResults() == 1)
    reshard->setAttr(model::idsName, ids);
  Value value = reshard.getResults()[0];
  partial.replaceUsesWithIf(value, [&](OpOperand &use) { return !visited.contains(use.getOwner()); });
  return value;
}

Operation *Propagation::replaceByShardableForm(Operation *op) {
  ImplicitLocOpBuilder builder(op->getLoc(), op);
  Operation *before = op->getPrevNode();
  FailureOr<SmallVector<Value>> values = cast<ShardingRuleOpInterface>(op).buildShardableForm(builder);
  if (failed(values))
    return nullptr;
  Operation *first = before ? before->getNextNode() : &block.front();
  for (Operation *created = first; created != op; created = created->getNextNode())
    copyTags(op, created);
  auto ids = op->getAttrOfType<DenseI64ArrayAttr>(model::idsName);
  for (auto [index, value] : llvm::enumerate(*values))
    if (value.getDefiningOp()->getNumResults() == 1)
      setId(value.getDefiningOp(), ids, index);
  op->replaceAllUsesWith(*values);
  op->erase();
  return first;
}

AxisSharding Propagation::ofParameter(StringRef parameter, Type type) const {
  auto found = options.parameters.find(parameter);
  auto declared = symbols.lookup<model::ParameterOp>(parameter);
  // A state whose shape differs from its parameter's is replicated.
  bool isLike = declared && cast<ShapedType>(declared.getType()).getShape() == cast<ShapedType>(type).getShape();
  return found == options.parameters.end() || !isLike ? AxisSharding() : found->second;
}

void Propagation::visitGradient(model::GradientOp op) {
  AxisSharding sharding = ofParameter(op.getParameter(), op.getType()), source = of(op->getOperand(0));
  // The reduction of the unit completes a partial sum, since it communicates in any case.
  if (!sharding.isSharded() && source.isPartial() && source.reduction == PartialReduction::sum) {
    auto stated = op->getAttrOfType<ArrayAttr>(spmd::operandShardingsName);
    spmd::ShardingAttr required = withAxis(stated ? cast<spmd::ShardingAttr>(stated[0]) : spmd::ShardingAttr(), source,
                                           axis, cast<RankedTensorType>(op->getOperand(0).getType()));
    op->setAttr(spmd::operandShardingsName, ArrayAttr::get(op->getContext(), {required}));
    return;
  }
  completeOperands(op);
  setOperandShardings(op, sharding, axis);
  setSharding(op->getResult(0), sharding, axis);
}

/// A state is sharded as its parameter is; other ops without a rule require replicated operands.
void Propagation::visitUnruled(Operation *op) {
  if (auto read = dyn_cast<model::ReadOp>(op))
    return setSharding(cast<OpResult>(read.getValue()), ofParameter(read.getParameter(), read.getType()), axis);
  if (auto gradient = dyn_cast<model::GradientOp>(op))
    return visitGradient(gradient);
  completeOperands(op);
  SmallVector<AxisSharding> required(op->getNumOperands());
  if (auto write = dyn_cast<model::WriteOp>(op))
    required[0] = ofParameter(write.getParameter(), write.getValue().getType());
  setOperandShardings(op, required, axis);
}

/// True where the op is linear in its operands together, which are all partial sums. Else partial operands are
/// completed.
bool Propagation::acceptsPartial(Operation *op, const ShardingRule &rule) {
  if (rule.linear && op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), [&](Value value) {
        return of(value).isPartial() && of(value).reduction == PartialReduction::sum;
      }))
    return true;
  completeOperands(op);
  return false;
}

LogicalResult Propagation::visitRuled(Operation *op, const ShardingRule &rule) {
  FactorChoice choice = chooseFactor(op, rule, options);
  auto required = llvm::map_to_vector(op->getOperands(), [&](Value operand) { return of(operand); });
  for (auto [use, reason] : choice.replicated) {
    if (reason == ReplicationReason::sharedHeads && failed(verifySharedHeads(*use, rule, options)))
      return failure();
    required[use->getOperandNumber()] = {};
  }
  auto shardingBy = [&](const TensorFactors &tensor) {
    std::optional<AxisSharding> sharding =
        choice.factor ? shardingOf(rule, tensor, *choice.factor) : std::optional<AxisSharding>();
    if (sharding)
      sharding->priority = choice.priority;
    return sharding;
  };
  for (auto [tensor, sharding] : llvm::zip(rule.operands, required))
    if (auto chosen = shardingBy(tensor); chosen && !sharding.isSamePlacement(*chosen))
      sharding = *chosen;
  setOperandShardings(op, required, axis);
  if (!choice.factor)
    return success();
  for (OpResult result : op->getResults()) {
    std::optional<AxisSharding> sharding = shardingBy(rule.results[result.getResultNumber()]);
    assert((sharding || rule.reduction != PartialReduction::none) && "a factor without results has a reduction");
    setSharding(result, sharding ? *sharding : AxisSharding::partial(rule.reduction), axis);
  }
  return success();
}

/// Combines the terms of replicated operands once, after the terms of sharded ones. Returns the next op to visit.
Operation *Propagation::visitAdditive(Operation *op, const ShardingRule &rule) {
  visited.insert(op);
  auto isSharded = [&](Value operand) { return of(operand).isSharded(); };
  if (llvm::none_of(op->getOperands(), isSharded))
    return op->getNextNode();
  OpBuilder builder(op);
  Operation *replicated = separateReplicatedTerms(builder, op, isSharded);
  setSharding(op->getResult(0), AxisSharding::partial(rule.reduction), axis);
  Value value = complete(op->getResult(0));
  Operation *reshard = value.getDefiningOp();
  if (!replicated)
    return reshard->getNextNode();
  replicated->removeAttr(model::idsName);
  builder.setInsertionPointAfter(reshard);
  Value terms = replicated->getResult(0);
  Operation *sum = rule.reduction == PartialReduction::max
                       ? model::MaximumOp::create(builder, op->getLoc(), value.getType(), value, terms).getOperation()
                       : model::AddOp::create(builder, op->getLoc(), value.getType(), value, terms).getOperation();
  copyTags(op, sum);
  if (Attribute ids = reshard->removeAttr(model::idsName))
    sum->setAttr(model::idsName, ids);
  visited.insert(replicated);
  visited.insert(sum);
  value.replaceAllUsesExcept(sum->getResult(0), sum);
  return sum->getNextNode();
}

/// Returns the next op to visit.
FailureOr<Operation *> Propagation::visit(Operation *op) {
  std::optional<ShardingRule> rule = ruleOf(op);
  if (!rule) {
    visitUnruled(op);
  } else if (acceptsPartial(op, *rule)) {
    for (OpResult result : op->getResults())
      setSharding(result, of(op->getOperand(0)), axis);
  } else if (rule->additive) {
    return visitAdditive(op, *rule);
  } else {
    if (requiresShardableForm(op, *rule, options.axis))
      if (Operation *first = replaceByShardableForm(op))
        return first;
    if (failed(visitRuled(op, *rule)))
      return failure();
  }
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
        << ": 'sharding.sequence' has no effect where no partial value has a sequence dim";
  remarks.emit();
}
