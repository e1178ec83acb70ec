//===- AxisOptions.cpp - the state of the module along one model-parallel axis --------------===//

#include "passes/sharding/tensor/AxisOptions.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/Utils.h"

using namespace mlir;

namespace sluice::tensor {

AxisOptions::AxisOptions(ModuleOp module, StringRef axisName, const Recipe &recipe) {
  key = "sharding." + axisName.str();
  const AxisRole role = spmd::roleOf(module, axisName).value_or(AxisRole::tensor);
  const bool isExpert = role == AxisRole::expert;
  axis = {axisName.str(), role, isExpert ? recipe.mesh.expert : recipe.mesh.tensor};
  origin = recipe.origin(isExpert && recipe.sharding.expert.empty() ? "mesh.expert" : key);
  bySequence = !isExpert && recipe.sharding.sequence;
  for (auto parameter : module.getOps<model::ParameterOp>())
    if (isSharded(parameter, axisName))
      parameters[parameter.getSymName()] = alongAxis(parameterSharding(parameter), axisName);
}

std::int64_t AxisOptions::sequenceOf(func::FuncOp entry) const {
  if (axis.role == AxisRole::expert)
    return 0;
  for (Operation *op : {entry.getOperation(), entry->getParentOp()})
    if (auto extent = op->getAttrOfType<IntegerAttr>(model::sequenceName))
      return extent.getInt();
  return 0;
}

bool isToPartition(ModuleOp module, StringRef axis) {
  if (spmd::meshOf(module) || isLocal(module, axis))
    return false;
  return llvm::any_of(module.getOps<model::ParameterOp>(),
                      [&](model::ParameterOp parameter) { return isSharded(parameter, axis); }) ||
         llvm::any_of(entriesOf(module), [&](func::FuncOp entry) { return !shardedInputs(entry, axis).empty(); });
}

bool isLocal(ModuleOp module, StringRef axis) {
  auto axes = module->getAttrOfType<ArrayAttr>(spmd::localAxesName);
  return axes && llvm::is_contained(axes, StringAttr::get(module.getContext(), axis));
}

SmallVector<BlockArgument> shardedInputs(func::FuncOp entry, StringRef axis) {
  SmallVector<BlockArgument> inputs;
  for (BlockArgument argument : entry.getArguments()) {
    auto sharding = entry.getArgAttrOfType<spmd::ShardingAttr>(argument.getArgNumber(), spmd::shardingName);
    if (sharding && sharding.dimAlong(axis))
      inputs.push_back(argument);
  }
  return inputs;
}

spmd::ShardingAttr parameterSharding(Operation *parameter) {
  return parameter->getAttrOfType<spmd::ShardingAttr>(spmd::shardingName);
}

bool isSharded(Operation *parameter, StringRef axis) {
  spmd::ShardingAttr sharding = parameterSharding(parameter);
  return sharding && sharding.dimAlong(axis);
}

bool isSharded(Operation *parameter, AxisRole role) {
  spmd::ShardingAttr sharding = parameterSharding(parameter);
  return sharding && llvm::any_of(sharding.getDims(), [&](spmd::DimShardingAttr dim) {
           return llvm::any_of(dim.getAxes(),
                               [&](StringAttr axis) { return spmd::roleOf(parameter, axis.getValue()) == role; });
         });
}

void CollectiveRemarks::add(Location where, std::string text) {
  for (CountedRemark &remark : remarks)
    if (remark.text == text) {
      ++remark.times;
      return;
    }
  remarks.push_back({std::move(text), where, 1});
}

void CollectiveRemarks::emit() const {
  for (const CountedRemark &remark : remarks)
    emitRemark(remark.where) << remark.text << " (" << remark.times << (remark.times == 1 ? " time)" : " times)");
}

bool CollectiveRemarks::has(StringRef text) const {
  return llvm::any_of(remarks, [&](const CountedRemark &remark) { return StringRef(remark.text).starts_with(text); });
}

std::string ruleText(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  // The rule of the norm of all gradients has a factor for each dim of the model.
  if (op->getNumOperands() > 8)
    return text + " of " + std::to_string(op->getNumOperands()) + " operands";
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  return ruled ? text + ' ' + ruled.getShardingRule().str() : text;
}

} // namespace sluice::tensor
