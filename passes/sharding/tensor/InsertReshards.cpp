//===- InsertReshards.cpp - reshards where an op requires another sharding ------------------===//
//
// After this pass all ops require the shardings that the values have, except for gradients, whose partial sums the
// reductions of units complete.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/Reshards.h"
#include "passes/sharding/Utils.h"
#include "passes/sharding/tensor/FactorChoice.h"
#include "passes/sharding/tensor/Positions.h"

#include "llvm/ADT/SetVector.h"

namespace sluice {
#define GEN_PASS_DEF_INSERTRESHARDS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::tensor;

namespace {

/// Inserts the reshards of one entry, one for all readers of a value that require the same sharding.
class Resharder {
public:
  Resharder(func::FuncOp function, const AxisOptions &options, CollectiveRemarks &remarks);

  void run();

private:
  AxisSharding of(Value value) const { return shardingOf(value, axis.name); }
  /// Reshards the operands of one op as it requires.
  void reshardOperands(Operation *op);
  /// Reshards the operand: an exchange if it has another sharding, else each rank slices or computes its shard.
  void shard(OpOperand &use, const AxisSharding &sharding);
  /// Replicates the operand; `text` continues the name of the reader, for remarks.
  void replicate(OpOperand &use, Operation *reader, llvm::StringRef text);
  /// The fewest elements to gather for a value of rows: the value itself, or the values that it is computed from.
  std::int64_t leastElements(Value value, unsigned depth) const;
  /// True where the inputs of the op of a value have fewer elements to gather than the value.
  bool isCheaperToGatherInputs(Value value) const;
  /// The shard of a replicated value, computed by a copy of its op; null where the op must compute all of it.
  Value computeShard(Value value, const AxisSharding &sharding);
  /// True where the backward reads another reshard of the value than the forward.
  bool isGatheredAgain(Value value, Operation *reader) const {
    return of(value).isOfTokens() && model::phaseOf(reader) == Phase::backward;
  }
  /// True where another op requires the value replicated, or a view of its rows: it is gathered for this.
  bool isReadReplicated(Value value, bool isAgain) const;
  /// The operand as shards along another dim; null where it is replicated, its inputs are cheaper to gather, or a dim
  /// is padded: of such an exchange the checker cannot follow each element. `text` continues the name of the reader,
  /// for remarks.
  Value exchange(OpOperand &use, const AxisSharding &sharding, llvm::StringRef text);
  /// The shard of a replicated value, directly before its reader: a parameter may be released in between.
  Value slice(Operation *reader, Value value, const AxisSharding &sharding);
  void noteSlice(Value shard, Value replicated);

  Block &block;
  const AxisOptions &options;
  const Axis &axis;
  CollectiveRemarks &remarks;
  /// The replicated form of a value. Rows and the sequence are gathered again for the backward (1), since the gathered
  /// value would occupy memory until then.
  llvm::DenseMap<std::pair<Value, unsigned>, Value> gathered;
  /// Shards of a value along other dims, also for the forward (0) and the backward (1).
  llvm::DenseMap<std::pair<Value, unsigned>, SmallVector<Value>> exchanged;
  /// Copies of ops on replicated values, which are not computed as shards.
  llvm::DenseSet<Operation *> copies;
  llvm::SetVector<Operation *> replaced;
};

struct InsertReshards : sluice::impl::InsertReshardsBase<InsertReshards> {
  using InsertReshardsBase::InsertReshardsBase;
  void runOnOperation() override;
};

} // namespace

Resharder::Resharder(func::FuncOp function, const AxisOptions &options, CollectiveRemarks &remarks)
    : block(function.getBody().front()), options(options), axis(options.axis), remarks(remarks) {
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
        if (rule.factors[factor].replicated || rule.factors[factor].positioned || !hasFactor(rule.results[0], factor))
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
  bool isAgain = isGatheredAgain(value, reader);
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
  if (!factor || rule.factors[factor->index].replicated || !areViews(chunksOf(rule, *factor, axis.ranks)) ||
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

bool Resharder::isReadReplicated(Value value, bool isAgain) const {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *op = use.getOwner();
    if (isGatheredAgain(value, op) != isAgain)
      return false;
    const AxisSharding required = operandSharding(use, axis.name);
    const bool isView = isa<ViewOpInterface>(op) && op->getNumResults() == 1 && required.isOfTokens();
    return required.isReplicated() || (isView && isReadReplicated(op->getResult(0), isAgain));
  });
}

Value Resharder::exchange(OpOperand &use, const AxisSharding &sharding, StringRef text) {
  Value value = use.get();
  Operation *reader = use.getOwner();
  const auto isEven = [&](const AxisSharding &each) {
    return !isPadded(cast<RankedTensorType>(value.getType()), each, axis.ranks);
  };
  if (!of(value).isSharded() || !sharding.isSharded() || of(value).dim == sharding.dim || !isEven(of(value)) ||
      !isEven(sharding))
    return nullptr;
  const bool isAgain = isGatheredAgain(value, reader);
  const std::pair<Value, unsigned> key(value, isAgain ? 1U : 0U);
  // A value that another reader needs gathered is sliced.
  if (gathered.contains(key) || isCheaperToGatherInputs(value) || isReadReplicated(value, isAgain))
    return nullptr;
  SmallVector<Value> &known = exchanged[key];
  for (Value each : known)
    if (of(each).isSamePlacement(sharding))
      return each;
  OpBuilder builder(reader);
  if (!isAgain)
    builder.setInsertionPointAfterValue(value);
  auto reshard = createReshard(builder, value, of(value), sharding, axis.name);
  copyTags(value.getDefiningOp() && !isAgain ? value.getDefiningOp() : reader, reshard);
  remarks.add(reader->getLoc(), ("all_to_all over '" + axis.name + "': " + ruleText(reader) + " " + text).str());
  known.push_back(reshard.getResults()[0]);
  return known.back();
}

void Resharder::shard(OpOperand &use, const AxisSharding &sharding) {
  if (of(use.get()).isSamePlacement(sharding))
    return;
  const StringRef text = "requires its operands in one sharding";
  if (Value exchanged = exchange(use, sharding, text))
    return use.set(exchanged);
  replicate(use, use.getOwner(), text);
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

/// Removes the projection onto the axis from `spmd.operand_shardings`, except for partial sums.
static void dropOperandShardings(Operation *op, StringRef axis) {
  SmallVector<Attribute> list;
  bool isPartial = false;
  for (auto [operand, stated] :
       llvm::zip(op->getOperands(), op->getAttrOfType<ArrayAttr>(spmd::operandShardingsName))) {
    auto sharding = cast<spmd::ShardingAttr>(stated);
    if (!sharding.isPartialOver(axis))
      sharding = withAxis(sharding, AxisSharding(), axis, cast<RankedTensorType>(operand.getType()));
    isPartial |= sharding.isPartial();
    list.push_back(sharding);
  }
  if (isPartial)
    op->setAttr(spmd::operandShardingsName, ArrayAttr::get(op->getContext(), list));
  else
    op->removeAttr(spmd::operandShardingsName);
}

void Resharder::reshardOperands(Operation *op) {
  auto required =
      llvm::map_to_vector(op->getOpOperands(), [&](OpOperand &use) { return operandSharding(use, axis.name); });
  if (std::optional<ShardingRule> rule = ruleOf(op))
    for (auto [use, reason] : chooseFactor(op, *rule, options).replicated) {
      const StringRef text = textOf(reason, axis.role);
      if (Value exchanged = exchange(*use, required[use->getOperandNumber()], text))
        use->set(exchanged);
      else
        replicate(*use, op, text);
    }
  for (OpOperand &use : op->getOpOperands()) {
    const AxisSharding &sharding = required[use.getOperandNumber()];
    if (sharding.isSharded())
      shard(use, sharding);
    else if (!sharding.isPartial())
      replicate(use, op, "requires replicated operands");
  }
  dropOperandShardings(op, axis.name);
}

void Resharder::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    if (op.hasAttr(spmd::operandShardingsName))
      ops.push_back(&op);
  for (Operation *op : ops)
    reshardOperands(op);
  for (Operation *op : llvm::reverse(replaced.getArrayRef()))
    if (op->use_empty())
      op->erase();
}

void InsertReshards::runOnOperation() {
  ModuleOp module = getOperation();
  if (!isToPartition(module, axis))
    return;
  FailureOr<Recipe> recipe = recipeFor(module, meshTensor, meshExpert);
  if (failed(recipe))
    return signalPassFailure();
  AxisOptions options(module, axis, *recipe);
  CollectiveRemarks remarks;
  for (func::FuncOp entry : entriesOf(module))
    Resharder(entry, options, remarks).run();
  remarks.emit();
}
