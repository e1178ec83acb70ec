//===- Localize.cpp - local types along one axis --------------------------------------------===//
//
// Values, parameters and attributes with shapes become those of one rank. Kernels that read their position get it as
// `spmd.local_shardings`, and padding that would be read is cleared.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/tensor/AxisOptions.h"
#include "passes/sharding/tensor/Collectives.h"
#include "passes/sharding/tensor/Positions.h"

namespace sluice {
#define GEN_PASS_DEF_LOCALIZE
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::tensor;

namespace {

/// An operand whose padding is cleared: after the op that computes it, or before the op that reads it.
struct ClearedOperand {
  OpOperand *use;
  RankedTensorType global;
  AxisSharding sharding;
  bool isBeforeReader;
};

class Localization {
public:
  Localization(func::FuncOp function, const AxisOptions &options)
      : block(function.getBody().front()), options(options), axis(options.axis) {}

  LogicalResult run();

private:
  AxisSharding of(Value value) const { return shardingOf(value, axis.name); }
  /// The factor that the op is split on; nothing where all its operands and results are replicated.
  std::optional<FactorSplit> splitOf(Operation *op, const ShardingRule &rule) const;
  /// States positions, and notes operands to clear; by global types.
  LogicalResult inspect(Operation *op);
  void inspectDense(Operation *op, const ShardingRule &rule, const FactorSplit &split);
  void setLocalTypes();
  void clearPadding(const ClearedOperand &cleared);

  Block &block;
  const AxisOptions &options;
  const Axis &axis;
  /// Parts that the ranks compute of replicated values: nothing in them differs between ranks but their position.
  llvm::DenseSet<Value> computedParts;
  SmallVector<ClearedOperand> toClear;
};

struct Localize : sluice::impl::LocalizeBase<Localize> {
  using LocalizeBase::LocalizeBase;
  void runOnOperation() override;
};

} // namespace

std::optional<FactorSplit> Localization::splitOf(Operation *op, const ShardingRule &rule) const {
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (AxisSharding sharding = of(operand); sharding.isSharded())
      return factorOf(rule, rule.operands[index], sharding);
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    if (AxisSharding sharding = of(result); sharding.isSharded())
      return factorOf(rule, rule.results[index], sharding);
  return std::nullopt;
}

/// In chunks that are no windows, operands are read dense: padding is zeros where it is summed over, and defined
/// elsewhere.
void Localization::inspectDense(Operation *op, const ShardingRule &rule, const FactorSplit &split) {
  bool isSummed =
      llvm::none_of(rule.results, [&](const TensorFactors &tensor) { return hasFactor(tensor, split.factor); });
  if (model::phaseOf(op) == Phase::update)
    return;
  for (OpOperand &use : op->getOpOperands()) {
    std::optional<AxisSharding> sharding = shardingOf(rule, rule.operands[use.getOperandNumber()], split);
    if (sharding && (sharding->segments == 1 || isSummed))
      toClear.push_back({&use, cast<RankedTensorType>(use.get().getType()), *sharding, /*isBeforeReader=*/true});
  }
}

LogicalResult Localization::inspect(Operation *op) {
  if (auto gradient = dyn_cast<model::GradientOp>(op)) {
    if (AxisSharding sharding = of(gradient->getResult(0)); sharding.isSharded())
      toClear.push_back({&gradient->getOpOperand(0), cast<RankedTensorType>(gradient.getType()), sharding,
                         /*isBeforeReader=*/false});
    return success();
  }
  std::optional<ShardingRule> rule = ruleOf(op);
  if (!rule || rule->additive)
    return success();
  std::optional<FactorSplit> split = splitOf(op, *rule);
  if (!split)
    return success();
  if (cutOf(*rule, *split, axis.ranks) == Cut::merged)
    inspectDense(op, *rule, *split);
  bool isComputedPart = true;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    isComputedPart &= !hasFactor(rule->operands[index], split->factor) || computedParts.contains(operand);
  if (!canPosition(op, *rule, *split, isComputedPart, axis)) {
    InFlightDiagnostic error = op->emitError()
                               << options.origin << ": value of '" << options.key << "', expected '" << op->getName()
                               << "', which asks where its part lies, to have parts along one axis but got a second, '"
                               << axis.name << "'";
    error.attachNote(op->getLoc()) << "its sharding rule is " << rule->str();
    return error;
  }
  setPositions(op, *rule, *split, isComputedPart, axis);
  if (isComputedPart)
    computedParts.insert_range(op->getResults());
  return success();
}

void Localization::setLocalTypes() {
  for (Operation &op : block) {
    bool changes = llvm::any_of(op.getOperands(), [&](Value operand) { return of(operand).isSharded(); });
    for (Value result : op.getResults())
      if (AxisSharding sharding = of(result); sharding.isSharded()) {
        result.setType(localType(cast<RankedTensorType>(result.getType()), sharding));
        changes = true;
      }
    if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op); ruled && changes)
      ruled.adjustToTypes();
  }
  for (Operation &op : block)
    op.removeAttr(spmd::shardingsName);
}

void Localization::clearPadding(const ClearedOperand &cleared) {
  if (!isPadded(cleared.global, cleared.sharding, axis.ranks))
    return;
  Operation *reader = cleared.use->getOwner();
  Value value = cleared.use->get();
  OpBuilder builder(reader);
  Operation *tagged = reader;
  if (!cleared.isBeforeReader) {
    builder.setInsertionPointAfterValue(value);
    if (Operation *op = value.getDefiningOp())
      tagged = op;
  }
  SmallVector<Operation *> made;
  cleared.use->set(padded(builder, value, cleared.global, cleared.sharding, axis, made));
  for (Operation *op : made)
    copyTags(tagged, op);
}

LogicalResult Localization::run() {
  for (Operation &op : block)
    if (failed(inspect(&op)))
      return failure();
  setLocalTypes();
  for (const ClearedOperand &cleared : toClear)
    clearPadding(cleared);
  return success();
}

void Localize::runOnOperation() {
  ModuleOp module = getOperation();
  if (!isToPartition(module, axis))
    return;
  FailureOr<Recipe> recipe = recipeFor(module, meshTensor, meshExpert, experts);
  if (failed(recipe))
    return signalPassFailure();
  AxisOptions options(module, axis, *recipe);
  for (func::FuncOp entry : entriesOf(module)) {
    if (failed(Localization(entry, options).run()))
      return signalPassFailure();
    // Each rank has inputs in full and slices them.
    for (BlockArgument input : shardedInputs(entry, axis))
      entry.removeArgAttr(input.getArgNumber(), spmd::shardingName);
  }
  for (auto parameter : module.getOps<model::ParameterOp>())
    if (auto found = options.parameters.find(parameter.getSymName()); found != options.parameters.end())
      parameter.setTypeAttr(TypeAttr::get(localType(cast<RankedTensorType>(parameter.getType()), found->second)));
  SmallVector<Attribute> axes;
  if (auto before = module->getAttrOfType<ArrayAttr>(spmd::localAxesName))
    axes.append(before.begin(), before.end());
  axes.push_back(StringAttr::get(&getContext(), axis));
  module->setAttr(spmd::localAxesName, ArrayAttr::get(&getContext(), axes));
}
