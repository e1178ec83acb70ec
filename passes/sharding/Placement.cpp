//===- Placement.cpp - parameters as the sharding passes see them -----------------------===//

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
    unitList.push_back(unit);
  }
}

std::optional<std::int64_t> Placement::dim(StringRef parameter) const {
  model::ParameterOp op = find(parameter);
  auto dim = op ? op->getAttrOfType<IntegerAttr>("dim") : IntegerAttr();
  return dim ? std::optional<std::int64_t>(dim.getInt()) : std::nullopt;
}

bool Placement::isFlat(StringRef parameter) const {
  std::optional<std::int64_t> split = dim(parameter);
  return split && *split > 0 && *split == find(parameter).getType().getRank() &&
         spmd::groupSize(meshOp, shardAxes(parameter)) > 1;
}

RankedTensorType Placement::cutType(StringRef parameter, RankedTensorType whole) const {
  return isFlat(parameter) ? RankedTensorType::get({whole.getNumElements()}, whole.getElementType()) : whole;
}

RankedTensorType Placement::local(StringRef parameter, RankedTensorType whole) const {
  std::optional<std::int64_t> split = dim(parameter);
  // A state of another shape than its parameter's is not laid out as it is.
  if (!split || (find(parameter).getType().getShape() != whole.getShape() &&
                 cutType(parameter, find(parameter).getType()).getShape() != whole.getShape()))
    return whole;
  ArrayAttr axes = shardAxes(parameter);
  std::int64_t ranks = spmd::groupSize(meshOp, axes);
  return ranks == 1 ? whole : spmd::shardType(cutType(parameter, whole), cutDim(parameter), axes, ranks);
}

spmd::ShardingAttr Placement::sharding(StringRef parameter) const {
  RankedTensorType type = find(parameter).getType();
  std::optional<std::int64_t> split = dim(parameter);
  if (!split)
    return spmd::ShardingAttr::replicated(meshOp->getContext(), type.getRank());
  if (*split > 0 && *split == type.getRank()) {
    type = spmd::flattened(type);
    split = 0;
  }
  SmallVector<StringAttr> axes(shardAxes(parameter).getAsRange<StringAttr>());
  std::int64_t total = type.getDimSize(*split), ranks = spmd::groupSize(meshOp, shardAxes(parameter));
  return spmd::shardingAlong(type.getRank(), {*split, chunkOf(total, ranks), total, axes});
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

ArrayAttr Placement::shardAxes(spmd::UnitOp unit) const {
  for (Attribute parameter : unit.getParameters())
    return shardAxes(cast<FlatSymbolRefAttr>(parameter).getValue());
  return axes(false, true);
}

ArrayAttr Placement::axes(bool replicate, bool shard, bool expert) const {
  // Along with experts, an axis of one rank says nothing.
  bool isJoint = expert && spmd::axisSize(meshOp, tensor::expertAxis).value_or(1) > 1;
  SmallVector<Attribute> found;
  for (Attribute axis : mesh().getAxes()) {
    StringRef name = cast<StringAttr>(axis).getValue();
    if (isJoint && *spmd::axisSize(meshOp, name) == 1)
      continue;
    if (isJoint && name == tensor::expertAxis)
      found.push_back(axis);
    if (replicate && name == "replicate")
      found.push_back(axis);
    // The axis may be in parts, where units keep pieces over some of its ranks.
    if (shard && (name == "shard" || name.starts_with("shard.")))
      found.push_back(axis);
  }
  return ArrayAttr::get(meshOp->getContext(), found);
}
