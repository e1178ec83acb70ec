//===- Localize.cpp - local types along one axis --------------------------------------------===//
//
// Values, parameters and attributes with shapes get local shapes. Kernels that read their position get it as
// `spmd.local_shardings`, and padding that would be read is cleared.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/Utils.h"
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
  /// The factor along which the op is sharded; nothing where all its operands and results are replicated.
  std::optional<FactorSharding> shardedFactorOf(Operation *op, const ShardingRule &rule) const;
  /// Sets positions, and notes operands whose padding must be cleared. Types are global.
  LogicalResult inspect(Operation *op);
  void notePadding(Operation *op, const ShardingRule &rule, const FactorSharding &factor);
  /// True where the padding of the results is zeros since that of all operands is.
  bool keepsZeros(Operation *op, const ShardingRule &rule, const FactorSharding &factor) const;
  void setLocalTypes();
  void clear(const ClearedOperand &cleared);

  Block &block;
  const AxisOptions &options;
  const Axis &axis;
  /// Shards that the ranks compute of replicated values: only their position differs between ranks.
  llvm::DenseSet<Value> computedShards;
  /// All padding of these is zeros: of gradients, and of the sums of gradients of several passes.
  llvm::DenseSet<Value> zeroPadded;
  SmallVector<ClearedOperand> toClear;
};

struct Localize : sluice::impl::LocalizeBase<Localize> {
  using LocalizeBase::LocalizeBase;
  void runOnOperation() override;
};

} // namespace

std::optional<FactorSharding> Localization::shardedFactorOf(Operation *op, const ShardingRule &rule) const {
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (AxisSharding sharding = of(operand); sharding.isSharded())
      return factorOf(rule, rule.operands[index], sharding);
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    if (AxisSharding sharding = of(result); sharding.isSharded())
      return factorOf(rule, rule.results[index], sharding);
  return std::nullopt;
}

/// The op reads padding inside of dims: it must be zeros in a factor that the op sums over, and defined in others.
void Localization::notePadding(Operation *op, const ShardingRule &rule, const FactorSharding &factor) {
  if (model::phaseOf(op) == Phase::update)
    return;
  bool isSummed =
      llvm::none_of(rule.results, [&](const TensorFactors &tensor) { return hasFactor(tensor, factor.index); });
  for (OpOperand &use : op->getOpOperands()) {
    std::optional<AxisSharding> sharding = shardingOf(rule, rule.operands[use.getOperandNumber()], factor);
    if (sharding && (sharding->segments == 1 || isSummed))
      toClear.push_back({&use, cast<RankedTensorType>(use.get().getType()), *sharding, /*isBeforeReader=*/true});
  }
}

/// An operand without the factor would be repeated into the padding of the results.
bool Localization::keepsZeros(Operation *op, const ShardingRule &rule, const FactorSharding &factor) const {
  return rule.linear && !rule.factors[factor.index].positioned &&
         llvm::all_of(op->getOpOperands(), [&](OpOperand &use) {
           return zeroPadded.contains(use.get()) && hasFactor(rule.operands[use.getOperandNumber()], factor.index);
         });
}

LogicalResult Localization::inspect(Operation *op) {
  if (auto gradient = dyn_cast<model::GradientOp>(op)) {
    if (AxisSharding sharding = of(gradient->getResult(0)); sharding.isSharded()) {
      toClear.push_back({&gradient->getOpOperand(0), cast<RankedTensorType>(gradient.getType()), sharding,
                         /*isBeforeReader=*/false});
      zeroPadded.insert(gradient.getMean());
    }
    return success();
  }
  std::optional<ShardingRule> rule = ruleOf(op);
  if (!rule || rule->additive)
    return success();
  std::optional<FactorSharding> factor = shardedFactorOf(op, *rule);
  if (!factor)
    return success();
  // The update reads padding as zeros, so the kernel must compute it.
  if (keepsZeros(op, *rule, *factor)) {
    zeroPadded.insert_range(op->getResults());
    return success();
  }
  if (chunksOf(*rule, *factor, axis.ranks) == Chunks::paddedInside)
    notePadding(op, *rule, *factor);
  bool isComputed = true;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    isComputed &= !hasFactor(rule->operands[index], factor->index) || computedShards.contains(operand);
  if (!canPosition(op, *rule, *factor, isComputed, axis)) {
    InFlightDiagnostic error = op->emitError()
                               << options.origin << ": '" << options.key << "' shards '" << op->getName() << "' along '"
                               << axis.name << "', but its kernel reads a position along another axis";
    error.attachNote(op->getLoc()) << "its sharding rule is " << rule->str();
    return error;
  }
  setPositions(op, *rule, *factor, isComputed, axis);
  if (isComputed)
    computedShards.insert_range(op->getResults());
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

void Localization::clear(const ClearedOperand &cleared) {
  if (!isPadded(cleared.global, cleared.sharding, axis.ranks))
    return;
  Operation *like = cleared.use->getOwner();
  Value value = cleared.use->get();
  OpBuilder builder(like);
  if (!cleared.isBeforeReader) {
    builder.setInsertionPointAfterValue(value);
    if (Operation *op = value.getDefiningOp())
      like = op;
  }
  cleared.use->set(clearPadding(builder, value, cleared.global, cleared.sharding, axis, like));
}

LogicalResult Localization::run() {
  for (Operation &op : block)
    if (failed(inspect(&op)))
      return failure();
  setLocalTypes();
  for (const ClearedOperand &cleared : toClear)
    clear(cleared);
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
    // As arguments, inputs are replicated.
    for (BlockArgument input : shardedInputs(entry, axis))
      entry.removeArgAttr(input.getArgNumber(), spmd::shardingName);
  }
  for (auto parameter : module.getOps<model::ParameterOp>())
    if (auto found = options.parameters.find(parameter.getSymName()); found != options.parameters.end())
      parameter.setTypeAttr(TypeAttr::get(localType(cast<RankedTensorType>(parameter.getType()), found->second)));
  SmallVector<Attribute> axes;
  if (auto others = module->getAttrOfType<ArrayAttr>(spmd::localAxesName))
    axes.append(others.begin(), others.end());
  axes.push_back(StringAttr::get(&getContext(), axis));
  module->setAttr(spmd::localAxesName, ArrayAttr::get(&getContext(), axes));
}
