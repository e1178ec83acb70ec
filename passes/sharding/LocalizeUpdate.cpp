//===- LocalizeUpdate.cpp - local types along the data axes -----------------------------------===//
//
// Arguments and results of reshards get the type of one rank's shard, as their shardings say. From there local types go
// through the ops that read them, by the ops' sharding rules (LocalTypes.h); these are ops of the update, and casts
// before a reshard.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/InitEntry.h"
#include "passes/sharding/LocalTypes.h"
#include "passes/sharding/Reshards.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {
#define GEN_PASS_DEF_LOCALIZEUPDATE
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Makes the types of one entry point local.
class Localizer {
public:
  Localizer(func::FuncOp function, spmd::MeshOp mesh) : function(function), mesh(mesh), types(mesh) {}

  LogicalResult run() {
    // Rules are of global types.
    function.walk([&](Operation *op) { types.remember(op); });
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

  /// Axes of one rank divide nothing, and a local type has no partial axes.
  void localizeResult(Value value, spmd::ShardingAttr sharding) {
    auto sharded = spmd::shardedDim(sharding);
    if (!sharded || spmd::groupSize(mesh, sharded->axesAttr()) == 1)
      return;
    setType(value, spmd::localType(cast<RankedTensorType>(value.getType()), sharding.withoutPartial()));
  }

  LogicalResult localizeOp(Operation *op) {
    if (auto reshard = dyn_cast<spmd::ReshardOp>(op)) {
      for (auto [index, result] : llvm::enumerate(reshard.getResults()))
        localizeResult(result, destinationOf(reshard, index));
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
    if (failed(types.retype(op)))
      return failure();
    for (Value result : op->getResults())
      if (spmd::shardingOf(result.getType()))
        localized.insert(result);
    return success();
  }

  LogicalResult localizeSection(spmd::SectionOp section) {
    for (Operation &op : llvm::make_early_inc_range(section.getBody().front()))
      if (failed(localizeOp(&op)))
        return failure();
    Operation *yield = section.getBody().front().getTerminator();
    for (auto [result, yielded] : llvm::zip(section.getResults(), yield->getOperands()))
      setType(result, yielded.getType());
    return success();
  }

  func::FuncOp function;
  spmd::MeshOp mesh;
  LocalTypes types;
  /// Values whose types have become local.
  llvm::DenseSet<Value> localized;
};

struct LocalizeUpdate : sluice::impl::LocalizeUpdateBase<LocalizeUpdate> {
  void runOnOperation() override {
    spmd::MeshOp mesh = spmd::meshOf(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(model::entryName) && !function.isExternal() && failed(Localizer(function, mesh).run()))
        return signalPassFailure();
  }
};

} // namespace
