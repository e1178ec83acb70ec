//===- LocalizeUpdate.cpp - local types along the data axes -----------------------------------===//
//
// Arguments and results of reshards get the type of one rank's shard, by their shardings. The ops that read them, those
// of the update and casts before a reshard, get local types by their sharding rules.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/Reshards.h"
#include "passes/sharding/Utils.h"
#include "passes/sharding/tensor/AxisSharding.h"

namespace sluice {
#define GEN_PASS_DEF_LOCALIZEUPDATE
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::tensor;

namespace {

/// For a tensor that is sharded by elements: replaces its factors by one, in all tensors that have them in this order.
/// Fails where a tensor has some of them.
LogicalResult mergeFactors(ShardingRule &rule, unsigned operand) {
  auto flattened = [](const TensorFactors &tensor) {
    SmallVector<unsigned> factors;
    for (const auto &dim : tensor)
      factors.append(dim.begin(), dim.end());
    return factors;
  };
  SmallVector<unsigned> merged = flattened(rule.operands[operand]);
  std::int64_t size = 1;
  bool replicated = false;
  for (unsigned factor : merged) {
    size *= rule.factors[factor].size;
    replicated |= rule.factors[factor].replicated;
  }
  const unsigned factor = rule.addFactor(size, replicated);
  bool isComplete = !replicated;
  auto merge = [&](TensorFactors &tensor) {
    if (flattened(tensor) == merged)
      tensor.assign(1, {factor});
    else
      isComplete &= llvm::none_of(merged, [&](unsigned each) { return hasFactor(tensor, each); });
  };
  llvm::for_each(rule.operands, merge);
  llvm::for_each(rule.results, merge);
  return success(isComplete);
}

/// Makes the types of one entry point local.
class Localizer {
public:
  Localizer(func::FuncOp function, spmd::MeshOp mesh) : function(function), mesh(mesh) {}

  LogicalResult run() {
    // Rules are of global types.
    function.walk([&](ShardingRuleOpInterface op) { rules[op] = op.getShardingRule(); });
    if (!localizeArguments())
      return success();
    if (model::entryOf(function) != EntryKind::init)
      for (auto section : function.getOps<spmd::SectionOp>())
        if (failed(localizeSection(section)))
          return failure();
    Operation *end = function.front().getTerminator();
    function.setFunctionType(
        FunctionType::get(function.getContext(), function.front().getArgumentTypes(), end->getOperandTypes()));
    return success();
  }

private:
  /// False where no argument is sharded.
  bool localizeArguments() {
    bool any = false;
    // All attributes are set at once: the list of them is a new uniqued attribute each time.
    SmallVector<DictionaryAttr> attributes;
    for (BlockArgument argument : function.getArguments()) {
      NamedAttrList list(function.getArgAttrDict(argument.getArgNumber()));
      if (auto sharding = dyn_cast_or_null<spmd::ShardingAttr>(list.erase(spmd::shardingName))) {
        setType(argument, spmd::localType(cast<RankedTensorType>(argument.getType()), sharding));
        any = true;
      }
      attributes.push_back(list.getDictionary(function.getContext()));
    }
    if (any)
      function.setAllArgAttrs(attributes);
    return any;
  }

  void setType(Value value, Type type) {
    if (value.getType() == type)
      return;
    value.setType(type);
    localized.insert(value);
  }

  LogicalResult localizeOp(Operation *op);
  LogicalResult localizeByRule(Operation *op);
  void complete(Operation *op, PartialReduction reduction, ArrayRef<StringAttr> axes);

  LogicalResult localizeSection(spmd::SectionOp section) {
    for (Operation &op : llvm::make_early_inc_range(section.getBody().front()))
      if (failed(localizeOp(&op)))
        return failure();
    for (auto [result, yielded] : llvm::zip(section.getResults(), section.getYield().getValues()))
      setType(result, yielded.getType());
    return success();
  }

  func::FuncOp function;
  spmd::MeshOp mesh;
  llvm::DenseMap<Operation *, ShardingRule> rules;
  /// Values whose types have become local.
  llvm::DenseSet<Value> localized;
};

} // namespace

LogicalResult Localizer::localizeOp(Operation *op) {
  if (auto reshard = dyn_cast<spmd::ReshardOp>(op)) {
    // Along axes of one rank a value is replicated, and a local type has no partial axes.
    for (auto [index, result] : llvm::enumerate(reshard.getResults()))
      if (auto sharded = spmd::shardedDim(destinationOf(reshard, index));
          sharded && spmd::groupSize(mesh, sharded->axesAttr()) != 1)
        setType(result, spmd::localType(cast<RankedTensorType>(result.getType()),
                                        destinationOf(reshard, index).withoutPartial()));
    return success();
  }
  if (isa<spmd::YieldOp>(op) ||
      llvm::none_of(op->getOperands(), [&](Value value) { return localized.contains(value); }))
    return success();
  if (auto sum = dyn_cast<spmd::AccumulateOp>(op)) {
    setType(sum.getSum(), spmd::withElementType(cast<RankedTensorType>(sum.getOperand().getType()),
                                                sum.getSum().getType().getElementType()));
    return success();
  }
  return localizeByRule(op);
}

/// Sets the types of the results from the shards that the op reads. A result for which a sharded factor is reduced is
/// partial.
LogicalResult Localizer::localizeByRule(Operation *op) {
  auto found = rules.find(op);
  if (found == rules.end())
    return op->emitOpError("reads a shard but has no sharding rule");
  ShardingRule &rule = found->second;
  auto refuse = [&](unsigned operand, const Twine &text) {
    InFlightDiagnostic error = op->emitOpError() << "operand " << operand << ' ' << text;
    error.attachNote(op->getLoc()) << "its sharding rule is " << rule.str();
    return error;
  };
  SmallVector<std::pair<FactorSharding, ArrayRef<StringAttr>>> sharded;
  for (auto [index, type] : llvm::enumerate(op->getOperandTypes()))
    if (auto dim = spmd::shardedDimOf(type)) {
      const TensorFactors &tensor = rule.operands[index];
      const bool isByElements = cast<RankedTensorType>(type).getRank() == 1 && tensor.size() != 1;
      if (isByElements && failed(mergeFactors(rule, index)))
        return refuse(index, "cannot be sharded by elements");
      const auto &factors = tensor[dim->dim];
      if (factors.size() != 1 || rule.factors[factors.front()].replicated)
        return refuse(index, "cannot be sharded along dim " + Twine(dim->dim));
      if (llvm::none_of(sharded, [&](const auto &other) { return other.first.index == factors.front(); }))
        sharded.push_back({FactorSharding{factors.front(), /*segments=*/1, dim->chunk}, dim->axes});
    }
  for (const auto &[factor, axes] : sharded) {
    for (auto [index, type] : llvm::enumerate(op->getOperandTypes())) {
      auto required = shardingOf(rule, rule.operands[index], factor);
      auto dim = spmd::shardedDimOf(type);
      if (required && (!dim || dim->dim != required->dim || dim->chunk != required->chunk || dim->axes != axes))
        return refuse(index, "must be sharded as the other operands are");
    }
    bool isReduced = true;
    for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results))
      if (auto sharding = shardingOf(rule, tensor, factor)) {
        setType(result, spmd::localType(cast<RankedTensorType>(result.getType()),
                                        spmd::shardingAlong(tensor.size(), {sharding->dim, sharding->chunk,
                                                                            rule.factors[factor.index].size, axes})));
        isReduced = false;
      }
    if (isReduced) {
      complete(op, rule.reduction, axes);
      break;
    }
  }
  return success();
}

/// Completes the partial result by a reshard to replicated.
void Localizer::complete(Operation *op, PartialReduction reduction, ArrayRef<StringAttr> axes) {
  assert(op->getNumResults() == 1 && reduction != PartialReduction::none);
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  // In a sum, operands that are replicated count once: the op over them alone is added after the all_reduce.
  Operation *terms = nullptr;
  if (reduction == PartialReduction::sum)
    terms = separateReplicatedTerms(builder, op,
                                    [](Value operand) { return spmd::shardingOf(operand.getType()) != nullptr; });
  Value partial = op->getResult(0);
  auto partialAxes = llvm::map_to_vector(axes, [&](StringAttr axis) { return spmd::PartialAxis{axis, reduction}; });
  auto replicated =
      spmd::ShardingAttr::replicated(op->getContext(), cast<RankedTensorType>(partial.getType()).getRank());
  Operation *completed =
      spmd::ReshardOp::create(builder, op->getLoc(), partial,
                              spmd::ShardingAttr::get(op->getContext(), replicated.getDims(), partialAxes), replicated);
  partial.replaceAllUsesExcept(completed->getResult(0), completed);
  model::setPhase(completed, model::phaseOf(op));
  if (terms) {
    Value sum = completed->getResult(0);
    completed = model::AddOp::create(builder, op->getLoc(), sum.getType(), sum, terms->getResult(0));
    sum.replaceAllUsesExcept(completed->getResult(0), completed);
    model::setPhase(completed, model::phaseOf(op));
  }
  model::copyAttribute(op, model::idsName, completed);
}

namespace {

struct LocalizeUpdate : sluice::impl::LocalizeUpdateBase<LocalizeUpdate> {
  void runOnOperation() override {
    spmd::MeshOp mesh = spmd::meshOf(getOperation());
    for (func::FuncOp entry : entriesOf(getOperation()))
      if (failed(Localizer(entry, mesh).run()))
        return signalPassFailure();
  }
};

} // namespace
