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
  const auto isExpert = [](AxisRole role) { return role == AxisRole::expert; };
  if (tensor::isSharded(find(parameter), AxisRole::expert) || spmd::groupSize(meshOp, axes(isExpert)) == 1)
    return axes(holdsShards);
  // With several expert ranks, axes of one rank are left out.
  return axes([&](AxisRole role) { return holdsShards(role) || isExpert(role); }, /*ofOneRank=*/false);
}

ArrayAttr Placement::axes(llvm::function_ref<bool(AxisRole)> isWanted, bool ofOneRank) const {
  SmallVector<Attribute> found;
  for (auto [axis, role, size] :
       llvm::zip(mesh().getAxes(), mesh().getRoles().getAsRange<spmd::AxisRoleAttr>(), mesh().getSizes()))
    if (isWanted(role.getValue()) && (ofOneRank || size > 1))
      found.push_back(axis);
  return ArrayAttr::get(meshOp->getContext(), found);
}
