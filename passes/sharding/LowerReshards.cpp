//===- LowerReshards.cpp - reshards become collectives ---------------------------------------===//
//
// A reshard of sharded values to replicated ones is an all_gather, one of replicated to sharded a slice on each rank,
// one of partial values a reduction (GradientReduction.h). A reshard between equal shardings is a copy to the device if
// the values are in host memory; otherwise its results are its operands.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/GradientReduction.h"
#include "passes/sharding/Reshards.h"
#include "passes/sharding/Utils.h"
#include "passes/sharding/tensor/Collectives.h"

#include <algorithm>

namespace sluice {
#define GEN_PASS_DEF_LOWERRESHARDS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Copies operands in host memory to the device, all by one copy. Their casts then run on the device.
void copyToDevice(spmd::ReshardOp reshard) {
  SmallVector<OpOperand *> uses;
  SmallVector<Value> shards;
  SmallVector<Location> locations;
  Operation *first = reshard;
  auto each = locationsOfValues(reshard, reshard->getNumOperands());
  for (auto [operand, location] : llvm::zip(reshard->getOpOperands(), each)) {
    auto cast = operand.get().getDefiningOp<model::CastOp>();
    OpOperand &use = cast ? cast->getOpOperand(0) : operand;
    if (!spmd::isInHost(use.get()))
      continue;
    if (cast && cast->isBeforeInBlock(first))
      first = cast;
    uses.push_back(&use);
    if (llvm::is_contained(shards, use.get()))
      continue;
    shards.push_back(use.get());
    locations.push_back(location);
  }
  if (shards.empty())
    return;
  // Compute waits for the gather of a copy, not for the copy.
  bool isGathered = changesSharding(reshard);
  OpBuilder builder(first);
  Location loc = builder.getFusedLoc(locations);
  auto start = spmd::CopyStartOp::create(builder, loc, shards, MemorySpace::device, reshard.getUnitAttr());
  auto wait = spmd::WaitOp::create(builder, loc, start, /*chained=*/isGathered);
  copyTags(reshard, start);
  copyTags(reshard, wait);
  for (OpOperand *use : uses) {
    use->set(wait.getValues()[llvm::find(shards, use->get()) - shards.begin()]);
    if (isGathered && isa<model::CastOp>(use->getOwner()))
      spmd::setStream(use->getOwner(), StreamKind::gather);
  }
}

void lowerToGather(spmd::ReshardOp reshard) {
  copyToDevice(reshard);
  OpBuilder builder(reshard);
  auto locations = locationsOfValues(reshard, reshard->getNumResults());
  Location loc = builder.getFusedLoc(locations);
  auto start = spmd::AllGatherStartOp::create(builder, loc, reshard.getOperands(),
                                              spmd::shardedDim(sourceOf(reshard))->axesAttr(), reshard.getUnitAttr());
  auto wait = spmd::WaitOp::create(builder, loc, start);
  copyTags(reshard, start);
  copyTags(reshard, wait);
  auto ids = reshard->getAttrOfType<DenseI64ArrayAttr>(model::idsName);
  model::copyAttribute(reshard, model::idsName, wait);
  for (auto [index, result, value] : llvm::enumerate(reshard.getResults(), wait.getValues())) {
    Value read = value;
    if (value.getType() != result.getType()) {
      // Gathered by elements: a view in the parameter's shape, in all repetitions.
      auto reshape = model::ReshapeOp::create(builder, locations[index], result.getType(), value);
      copyTags(reshard, reshape);
      reshape->removeAttr(spmd::whenName);
      setId(reshape, ids, index);
      read = reshape.getResult();
    }
    result.replaceUsesWithIf(value,
                             [](OpOperand &use) { return isa<spmd::ReleaseOp, spmd::ReshardOp>(use.getOwner()); });
    result.replaceAllUsesWith(read);
  }
}

void lowerToSlice(spmd::ReshardOp reshard) {
  OpBuilder builder(reshard);
  auto ids = reshard->getAttrOfType<DenseI64ArrayAttr>(model::idsName);
  auto locations = locationsOfValues(reshard, reshard->getNumResults());
  for (auto [index, result, operand] : llvm::enumerate(reshard.getResults(), reshard.getOperands())) {
    auto slice = spmd::AllSliceOp::create(builder, locations[index], result.getType(), operand);
    copyTags(reshard, slice);
    if (reshard.getUnitAttr())
      slice->setAttr("unit", reshard.getUnitAttr());
    setId(slice, ids, index);
    result.replaceAllUsesWith(slice.getResult());
  }
}

/// Lowers a reshard of a unit's parameters or gradients, which has no use after that.
void lowerOfUnit(spmd::ReshardOp reshard, const Placement &placement, bool forceSum) {
  if (isReduction(reshard))
    return lowerReduction(reshard, placement, forceSum);
  if (!changesSharding(reshard)) {
    copyToDevice(reshard);
    for (Value value : reshard.getResults())
      eraseFromReleases(value);
    reshard.replaceAllUsesWith(reshard.getOperands());
  } else if (destinationOf(reshard).isSharded()) {
    lowerToSlice(reshard);
  } else {
    lowerToGather(reshard);
  }
}

struct LowerReshards : sluice::impl::LowerReshardsBase<LowerReshards> {
  using LowerReshardsBase::LowerReshardsBase;
  void runOnOperation() override;
};

} // namespace

void LowerReshards::runOnOperation() {
  Placement placement(getOperation());
  FailureOr<Recipe> recipe = recipeFor(getOperation(), meshTensor, meshExpert, forceSum);
  if (failed(recipe))
    return signalPassFailure();
  auto ranksOf = [&](StringRef axis) {
    if (placement.mesh())
      return *spmd::axisSize(placement.mesh(), axis);
    return spmd::roleOf(getOperation(), axis) == AxisRole::expert ? recipe->mesh.expert : recipe->mesh.tensor;
  };
  SmallVector<spmd::ReshardOp> reshards;
  getOperation().walk([&](spmd::ReshardOp reshard) { reshards.push_back(reshard); });
  // A reduction over replicas reads the source of the reduction over shards that it completes.
  std::stable_partition(reshards.begin(), reshards.end(),
                        [](spmd::ReshardOp reshard) { return isReduction(reshard) && sourceOf(reshard).isSharded(); });
  for (spmd::ReshardOp reshard : reshards) {
    if (!isGrouped(reshard)) {
      reshard.emitOpError("is of one parameter and not of a unit").attachNote()
          << "spmd-group-reshards merges the reshards of a unit";
      return signalPassFailure();
    }
    if (reshard.getUnit())
      lowerOfUnit(reshard, placement, recipe->gradient.forceSum);
    else
      tensor::lowerReshard(reshard, ranksOf);
    reshard.erase();
  }
}
