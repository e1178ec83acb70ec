//===- LowerReshards.cpp - reshards become collectives ---------------------------------------===//
//
// A reshard of sharded values to replicated ones is an all_gather, one of replicated to sharded a slice on each rank.
// One of partial results is a reduction (GradientReduction.h). One that changes no sharding is a copy between memories
// where the values are in host memory, and otherwise nothing.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/model/Model.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spaces.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/GradientReduction.h"
#include "passes/sharding/Reshards.h"
#include "passes/sharding/tensor/Collectives.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>

namespace sluice {
#define GEN_PASS_DEF_LOWERRESHARDS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Phase, pass and repetitions of a reshard are those of the ops that it becomes.
void copyTags(spmd::ReshardOp from, Operation *to, bool withRepetitions = true) {
  for (StringRef name : {StringRef(model::phaseName), StringRef(model::invocationName), StringRef(spmd::whenName)})
    if (Attribute attribute = from->getAttr(name); attribute && (withRepetitions || name != spmd::whenName))
      to->setAttr(name, attribute);
}

/// Copies operands in host memory to the device first, all in one copy, and casts them there.
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
  // Compute waits for what a gather makes of the copy, not for the copy.
  bool isGathered = changesSharding(reshard);
  OpBuilder builder(first);
  Location loc = builder.getFusedLoc(locations);
  auto start = spmd::CopyStartOp::create(builder, loc, spmd::TokenType::get(builder.getContext()), shards,
                                         MemorySpace::device, reshard.getUnitAttr());
  auto wait = spmd::WaitOp::create(builder, loc, ValueRange(shards).getTypes(), start.getToken(), isGathered);
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
  Location loc = builder.getFusedLoc(locationsOfValues(reshard, reshard->getNumResults()));
  auto start =
      spmd::AllGatherStartOp::create(builder, loc, spmd::TokenType::get(builder.getContext()), reshard.getOperands(),
                                     spmd::shardedDim(sourceOf(reshard))->axesAttr(), reshard.getUnitAttr());
  auto types = llvm::map_to_vector(reshard.getOperands().getTypes(),
                                   [](Type type) -> Type { return spmd::globalType(cast<RankedTensorType>(type)); });
  auto wait = spmd::WaitOp::create(builder, loc, types, start.getToken());
  copyTags(reshard, start);
  copyTags(reshard, wait);
  auto ids = reshard->getAttrOfType<DenseI64ArrayAttr>(model::idsName);
  if (ids)
    wait->setAttr(model::idsName, ids);
  auto locations = locationsOfValues(reshard, reshard->getNumResults());
  for (auto [index, result, value] : llvm::enumerate(reshard.getResults(), wait.getValues())) {
    Value read = value;
    if (value.getType() != result.getType()) {
      // Gathered by elements: a view in the parameter's shape.
      auto reshape = model::ReshapeOp::create(builder, locations[index], result.getType(), value);
      copyTags(reshard, reshape, /*withRepetitions=*/false);
      if (ids)
        reshape->setAttr(model::idsName, builder.getDenseI64ArrayAttr(ids[index]));
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
    if (ids)
      slice->setAttr(model::idsName, builder.getDenseI64ArrayAttr(ids[index]));
    result.replaceAllUsesWith(slice.getResult());
  }
}

/// Values that were not gathered are in no release.
void dropFromReleases(Value value) {
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

/// Lowers a reshard of a unit's parameters or gradients, and then it has no use.
void lowerOfUnit(spmd::ReshardOp reshard, const Placement &placement, bool forceSum) {
  if (isReduction(reshard))
    return lowerReduction(reshard, placement, forceSum);
  if (!changesSharding(reshard)) {
    copyToDevice(reshard);
    for (Value value : reshard.getResults())
      dropFromReleases(value);
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

private:
  LogicalResult run(Block &block, const Recipe &recipe, const Placement &placement);
};

/// The reshards of a block. A reduction over replicas is lowered before the one over shards that it completes, whose
/// source states what is summed.
SmallVector<spmd::ReshardOp> reshardsOf(Block &block) {
  SmallVector<spmd::ReshardOp> reshards(block.getOps<spmd::ReshardOp>());
  std::stable_partition(reshards.begin(), reshards.end(),
                        [](spmd::ReshardOp reshard) { return isReduction(reshard) && sourceOf(reshard).isSharded(); });
  return reshards;
}

} // namespace

LogicalResult LowerReshards::run(Block &block, const Recipe &recipe, const Placement &placement) {
  auto ranksOf = [&](StringRef axis) {
    if (placement.mesh())
      return *spmd::axisSize(placement.mesh(), axis);
    return axis == tensor::expertAxis ? recipe.mesh.expert : recipe.mesh.tensor;
  };
  for (spmd::ReshardOp reshard : reshardsOf(block)) {
    if (!isGrouped(reshard))
      return reshard.emitOpError("is of one parameter, but spmd-lower-reshards takes those of spmd-group-reshards");
    if (reshard.getUnit())
      lowerOfUnit(reshard, placement, recipe.gradient.forceSum);
    else
      tensor::lowerReshard(reshard, ranksOf);
    reshard.erase();
  }
  return success();
}

void LowerReshards::runOnOperation() {
  Placement placement(getOperation());
  FailureOr<Recipe> recipe = recipeFor(getOperation(), meshTensor, meshExpert, forceSum);
  if (failed(recipe))
    return signalPassFailure();
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    if (failed(run(function.front(), *recipe, placement)))
      return signalPassFailure();
    for (auto section : function.getOps<spmd::SectionOp>())
      if (failed(run(section.getBody().front(), *recipe, placement)))
        return signalPassFailure();
  }
}
