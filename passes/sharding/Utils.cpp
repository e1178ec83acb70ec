//===- Utils.cpp - functions that several passes of the stage use --------------------------===//

#include "passes/sharding/Utils.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"

using namespace mlir;
using namespace sluice;

SmallVector<func::FuncOp> sluice::entriesOf(ModuleOp module) {
  return llvm::filter_to_vector(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
    return function->hasAttr(model::entryName) && !function.isExternal();
  });
}

void sluice::copyTags(Operation *from, Operation *to) {
  for (StringRef name : {StringRef(model::phaseName), StringRef(model::blockName), StringRef(model::invocationName),
                         StringRef(model::recomputeName), StringRef(spmd::whenName)})
    model::copyAttribute(from, name, to);
}

void sluice::setId(Operation *op, DenseI64ArrayAttr ids, std::size_t index) {
  if (ids)
    op->setAttr(model::idsName, DenseI64ArrayAttr::get(op->getContext(), ids.asArrayRef().slice(index, 1)));
}

Location sluice::fuseLocations(MLIRContext *context, ArrayRef<Location> ofValues) {
  SmallVector<Attribute> each(ofValues.begin(), ofValues.end());
  return FusedLoc::get(ofValues, ArrayAttr::get(context, each), context);
}

SmallVector<Location> sluice::locationsOfValues(Operation *op, std::size_t count) {
  if (auto fused = dyn_cast<FusedLoc>(op->getLoc()))
    if (auto each = dyn_cast_or_null<ArrayAttr>(fused.getMetadata()); each && each.size() == count)
      return llvm::map_to_vector(each, [](Attribute location) { return Location(cast<LocationAttr>(location)); });
  return SmallVector<Location>(count, op->getLoc());
}

Value sluice::sourceOfViews(Value value) {
  while (auto view = value.getDefiningOp<ViewOpInterface>())
    value = view->getOperand(0);
  return value;
}

void sluice::inlineRecompute(Block &block) {
  for (auto region : llvm::make_early_inc_range(block.getOps<model::RecomputeOp>())) {
    Block &body = region.getBody().front();
    auto yield = cast<model::YieldOp>(body.getTerminator());
    for (Operation &op : body.without_terminator()) {
      model::setPhase(&op, Phase::backward);
      op.setAttr(model::recomputeName, UnitAttr::get(region.getContext()));
    }
    region.replaceAllUsesWith(yield.getValues());
    yield.erase();
    block.getOperations().splice(Block::iterator(region), body.getOperations());
    region.erase();
  }
}

Operation *sluice::separateReplicatedTerms(OpBuilder &builder, Operation *op,
                                           llvm::function_ref<bool(Value)> isSharded) {
  SmallVector<Value> sharded, replicated;
  for (Value operand : op->getOperands())
    (isSharded(operand) ? sharded : replicated).push_back(operand);
  if (replicated.empty())
    return nullptr;
  Operation *copy = builder.clone(*op);
  copy->setOperands(replicated);
  op->setOperands(sharded);
  return copy;
}

spmd::WaitOp sluice::allReduce(OpBuilder &builder, Operation *like, ValueRange values, ArrayAttr axes,
                               ReductionKind kind) {
  auto start = spmd::AllReduceStartOp::create(builder, like->getLoc(), values, axes, kind, APFloat(1.0), StringAttr());
  auto wait = spmd::WaitOp::create(builder, like->getLoc(), start);
  copyTags(like, start);
  copyTags(like, wait);
  return wait;
}

void sluice::eraseUnusedCasts(ValueRange values) {
  for (Value value : values)
    if (auto cast = value.getDefiningOp<model::CastOp>(); cast && cast->use_empty())
      cast.erase();
}

void sluice::eraseFromReleases(Value value) {
  for (Operation *user : llvm::make_early_inc_range(value.getUsers()))
    if (auto release = dyn_cast<spmd::ReleaseOp>(user)) {
      SmallVector<Value> values(release.getValues());
      llvm::erase(values, value);
      if (values.empty())
        release.erase();
      else
        release.getValuesMutable().assign(values);
    }
}
