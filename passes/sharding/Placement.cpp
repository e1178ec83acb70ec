//===- Placement.cpp - units and shardings of parameters along the data axes ------------===//

#include "passes/sharding/Placement.h"

#include "passes/sharding/tensor/AxisOptions.h"
#include "runtime/base/ShardMath.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace sluice;

Placement::Placement(ModuleOp module) : meshOp(spmd::meshOf(module)) {
  for (auto parameter : module.getOps<model::ParameterOp>()) {
    list.push_back(parameter);
    byName[parameter.getSymName()] = parameter;
  }
  for (auto unit : module.getOps<spmd::UnitOp>()) {
    for (Attribute parameter : unit.getParameters())
      unitOfParameter[cast<FlatSymbolRefAttr>(parameter).getValue()] = unitList.size();
    indices[unit.getName()] = unitList.size();
    unitList.push_back(unit);
  }
}

spmd::ShardingAttr Placement::sharding(StringRef parameter) const {
  model::ParameterOp op = find(parameter);
  RankedTensorType type = op.getType();
  auto dim = op->getAttrOfType<IntegerAttr>("dim");
  if (!dim)
    return spmd::ShardingAttr::replicated(meshOp->getContext(), type.getRank());
  std::int64_t index = dim.getInt();
  if (index > 0 && index == type.getRank()) {
    type = spmd::flattened(type);
    index = 0;
  }
  SmallVector<StringAttr> axes(shardAxes(parameter).getAsRange<StringAttr>());
  std::int64_t total = type.getDimSize(index), ranks = spmd::groupSize(meshOp, shardAxes(parameter));
  return spmd::shardingAlong(type.getRank(), {index, chunkOf(total, ranks), total, axes});
}

RankedTensorType Placement::local(StringRef parameter, RankedTensorType global) const {
  if (spmd::groupSize(meshOp, shardAxes(parameter)) == 1)
    return global;
  spmd::ShardingAttr along = sharding(parameter);
  RankedTensorType type = find(parameter).getType();
  bool isLike = type.getShape() == global.getShape() ||
                (along.getDims().size() == 1 && spmd::flattened(type).getShape() == global.getShape());
  return isLike ? spmd::localType(global, along) : global;
}

spmd::ShardingAttr Placement::along(spmd::ShardingAttr sharding, ArrayAttr axes) const {
  spmd::ShardedDim sharded = *spmd::shardedDim(sharding);
  SmallVector<StringAttr> names(axes.getAsRange<StringAttr>());
  sharded.axes = names;
  sharded.chunk = chunkOf(sharded.total, spmd::groupSize(meshOp, axes));
  return spmd::shardingAlong(static_cast<std::int64_t>(sharding.getDims().size()), sharded);
}

ArrayAttr Placement::shardAxes(StringRef parameter) const {
  return axes(false, true, !tensor::isSharded(find(parameter), tensor::expertAxis));
}

ArrayAttr Placement::axes(bool replicate, bool shard, bool expert) const {
  // With several expert ranks, axes of one rank are left out.
  bool isJoint = expert && spmd::axisSize(meshOp, tensor::expertAxis).value_or(1) > 1;
  auto found = llvm::filter_to_vector(mesh().getAxes(), [&](Attribute axis) {
    StringRef name = cast<StringAttr>(axis).getValue();
    if (isJoint && *spmd::axisSize(meshOp, name) == 1)
      return false;
    // The axis has sub-axes where units keep a shard over some of its ranks.
    return (isJoint && name == tensor::expertAxis) || (replicate && name == "replicate") ||
           (shard && (name == "shard" || name.starts_with("shard.")));
  });
  return ArrayAttr::get(meshOp->getContext(), found);
}
