//===- InsertReshards.cpp - reshards where an op requires another sharding ------------------===//
//
// After this pass all ops require the shardings that the values have, except for gradients, whose partial sums the
// reductions of units complete.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/Utils.h"
#include "passes/sharding/tensor/FactorChoice.h"
#include "passes/sharding/tensor/Resharder.h"

namespace sluice {
#define GEN_PASS_DEF_INSERTRESHARDS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::tensor;

namespace {

struct InsertReshards : sluice::impl::InsertReshardsBase<InsertReshards> {
  using InsertReshardsBase::InsertReshardsBase;
  void runOnOperation() override;
};

/// Removes the projection onto the axis from `spmd.operand_shardings`, except for partial sums.
void dropOperandShardings(Operation *op, StringRef axis) {
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

/// Reshards the operands of one op as it requires.
void reshardOperands(Operation *op, const AxisOptions &options, Resharder &resharder) {
  StringRef axis = options.axis.name;
  auto required = llvm::map_to_vector(op->getOpOperands(), [&](OpOperand &use) { return operandSharding(use, axis); });
  if (std::optional<ShardingRule> rule = ruleOf(op))
    for (auto [use, reason] : chooseFactor(op, *rule, options).replicated)
      resharder.replicate(*use, textOf(reason, axis));
  for (OpOperand &use : op->getOpOperands()) {
    const AxisSharding &sharding = required[use.getOperandNumber()];
    if (sharding.isSharded())
      resharder.shard(use, sharding);
    else if (!sharding.isPartial())
      resharder.replicate(use, "requires replicated operands");
  }
  dropOperandShardings(op, axis);
}

} // namespace

void InsertReshards::runOnOperation() {
  ModuleOp module = getOperation();
  if (!isToPartition(module, axis))
    return;
  FailureOr<Recipe> recipe = recipeFor(module, meshTensor, meshExpert);
  if (failed(recipe))
    return signalPassFailure();
  AxisOptions options(module, axis, *recipe);
  CollectiveRemarks remarks;
  for (func::FuncOp entry : entriesOf(module)) {
    Resharder resharder(entry, options.axis, remarks);
    SmallVector<Operation *> ops;
    for (Operation &op : entry.front())
      if (op.hasAttr(spmd::operandShardingsName))
        ops.push_back(&op);
    for (Operation *op : ops)
      reshardOperands(op, options, resharder);
    resharder.eraseReplaced();
  }
  remarks.emit();
}
