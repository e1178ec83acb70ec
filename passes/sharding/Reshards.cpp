//===- Reshards.cpp - reads of parameters and gradients as reshards -----------------------===//

#include "passes/sharding/Reshards.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"

using namespace mlir;
using namespace sluice;

spmd::ShardingAttr sluice::sourceOf(spmd::ReshardOp reshard, std::size_t index) {
  return cast<spmd::ShardingAttr>(reshard.getSources()[index]);
}

spmd::ShardingAttr sluice::destinationOf(spmd::ReshardOp reshard, std::size_t index) {
  return cast<spmd::ShardingAttr>(reshard.getDestinations()[index]);
}

bool sluice::isReduction(spmd::ReshardOp reshard) { return sourceOf(reshard).isPartial(); }

bool sluice::sumsAlongShards(spmd::ReshardOp reshard) {
  return llvm::any_of(sourceOf(reshard).getPartialAxes(), [&](const spmd::PartialAxis &partial) {
    return partial.reduction == PartialReduction::sum && destinationOf(reshard).dimAlong(partial.axis.getValue());
  });
}

bool sluice::isParameterRead(spmd::ReshardOp reshard) {
  return reshard.getUnit() && !isReduction(reshard) && !destinationOf(reshard).isSharded();
}

bool sluice::changesSharding(spmd::ReshardOp reshard) { return sourceOf(reshard) != destinationOf(reshard); }

bool sluice::isGrouped(spmd::ReshardOp reshard) { return !reshard->hasAttr(spmd::parameterName); }

StringRef sluice::parameterOf(spmd::ReshardOp reshard) {
  return reshard->getAttrOfType<FlatSymbolRefAttr>(spmd::parameterName).getValue();
}

bool sluice::preparesRead(Operation *op) {
  return isa<model::CastOp>(op) && isa<BlockArgument>(op->getOperand(0)) && !op->use_empty() &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           auto reshard = dyn_cast<spmd::ReshardOp>(user);
           return reshard && isParameterRead(reshard);
         });
}
