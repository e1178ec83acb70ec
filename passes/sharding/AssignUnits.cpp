//===- AssignUnits.cpp - the mesh, the units and each parameter's placement ------------===//
//
// Only this pass reads the recipe's settings of units and shards: it puts the mesh, the units with their policies, and
// the unit and the sharded dim of each parameter (none: replicated) on the IR.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/rules/Roles.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/Keys.h"
#include "passes/recipe/ModelUnits.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/UnitPolicy.h"
#include "passes/sharding/tensor/AxisOptions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace sluice {
#define GEN_PASS_DEF_ASSIGNUNITS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// The dim along which a parameter is sharded; its rank where it is sharded by elements.
Result<std::int64_t> dimOf(const Recipe &recipe, model::ParameterOp parameter) {
  ArrayRef<std::int64_t> shape = parameter.getType().getShape();
  const auto &setting = recipe.sharding.dim.at(parameter.getSymName());
  std::int64_t dim = 0;
  if (auto *number = std::get_if<std::int64_t>(&setting))
    dim = *number;
  else if (std::get<ShardDim>(setting) == ShardDim::largest)
    dim = std::max_element(shape.begin(), shape.end()) - shape.begin();
  // A tensor of one dim is flat.
  else if (std::get<ShardDim>(setting) == ShardDim::flat)
    return shape.size() == 1 ? 0 : static_cast<std::int64_t>(shape.size());
  if (dim < 0 || dim >= static_cast<std::int64_t>(shape.size()))
    return recipe.refuse(keys::shardingDim, "parameter '" + parameter.getSymName().str() + "'",
                         ", expected a dim below " + std::to_string(shape.size()) + " but got " + std::to_string(dim));
  return dim;
}

/// The parameters of a unit are gathered by one collective, and have one element type.
Status checkTypes(const Recipe &recipe, const ModelUnits &units, const UnitPlan &plan) {
  if (recipe.mesh.shard * recipe.mesh.replicate * recipe.mesh.expert == 1)
    return Status::ok();
  std::vector<model::ParameterOp> first(plan.units.size());
  for (auto [index, unit] : llvm::enumerate(plan.unitOf)) {
    model::ParameterOp parameter = units.parameters()[index];
    if (!units.isUsed(parameter.getSymName()))
      continue;
    if (!first[unit])
      first[unit] = parameter;
    Type element = parameter.getType().getElementType(), before = first[unit].getType().getElementType();
    if (element == before)
      continue;
    std::string text;
    llvm::raw_string_ostream(text) << before << " of '" << first[unit].getSymName() << "' and " << element << " of '"
                                   << parameter.getSymName() << "'";
    return inputError(recipe.origin(keys::units) + ": unit '" + plan.units[unit] +
                      "' has parameters of two element types, " + text + "; separate units may have them");
  }
  return Status::ok();
}

/// The outermost blocks of ops, in order.
std::vector<std::string> outermostBlocks(ModuleOp module) {
  llvm::SetVector<StringRef> blocks;
  module.walk([&](Operation *op) {
    if (StringRef block = model::outermostBlock(model::blockOf(op)); !block.empty())
      blocks.insert(block);
  });
  return {blocks.begin(), blocks.end()};
}

/// The entries of a table name units and blocks, and each entry what its tensors are offloaded by.
Status checkOffload(const Recipe &recipe, const std::vector<std::string> &units,
                    const std::vector<std::string> &blocks) {
  constexpr llvm::StringRef key = keys::memoryOffload;
  std::vector<std::string> names = units;
  llvm::append_range(names, blocks);
  SLUICE_RETURN_IF_ERROR(recipe.checkNames(key, "unit or block", names));
  if (!recipe.memory.offload.table)
    return Status::ok();
  for (const auto &[glob, list] : *recipe.memory.offload.table)
    for (Offloaded tensors : std::get<std::vector<Offloaded>>(list)) {
      const bool isByBlock = tensors == Offloaded::activations;
      if (llvm::none_of(isByBlock ? blocks : units, [&](StringRef name) { return matchesGlob(glob, name); }))
        return recipe.refuse(key, "'" + glob + "'",
                             std::string(", expected the name of ") + (isByBlock ? "an outermost block" : "a unit") +
                                 " for \"" + stringifyEnum(tensors).str() + "\"");
    }
  return Status::ok();
}

/// The steps for one module. Each step emits its errors.
class UnitAssignment {
public:
  UnitAssignment(ModuleOp module, const Recipe &recipe)
      : module(module), recipe(recipe), units(module, recipe.sharding), parameters(units.parameters().vec()),
        builder(OpBuilder::atBlockBegin(module.getBody())), plan(units.plan()) {
    // States are in no unit: they are replicated, and each rank updates them.
    for (model::ParameterOp parameter : parameters)
      names.push_back(parameter.getSymName().str());
  }

  LogicalResult run() {
    return failure(failed(checkTypesAreLocal()) || failed(assignParameters()) || failed(createMesh()) ||
                   failed(createUnits()) || failed(placeParameters()));
  }

private:
  LogicalResult checkTypesAreLocal();
  LogicalResult assignParameters();
  LogicalResult createMesh();
  LogicalResult createUnits();
  LogicalResult placeParameters();

  LogicalResult emit(const Status &status) {
    if (status.isOk())
      return success();
    return emitError(UnknownLoc::get(module.getContext())) << status.message();
  }

  ModuleOp module;
  const Recipe &recipe;
  ModelUnits units;
  std::vector<model::ParameterOp> parameters;
  OpBuilder builder;
  std::vector<std::string> names;
  UnitPlan plan;
  /// The sizes of the sub-axes of `shard`.
  llvm::SmallVector<std::int64_t> shardAxes;
};

struct AssignUnits : sluice::impl::AssignUnitsBase<AssignUnits> {
  using AssignUnitsBase::AssignUnitsBase;
  void runOnOperation() override;
};

} // namespace

/// Parameters that are sharded along a model-parallel axis have local types.
LogicalResult UnitAssignment::checkTypesAreLocal() {
  for (model::ParameterOp parameter : parameters)
    for (StringRef axis : {stringifyAxisRole(AxisRole::expert), stringifyAxisRole(AxisRole::tensor)})
      if (tensor::isSharded(parameter, axis) && !tensor::isLocal(module, axis)) {
        InFlightDiagnostic error = parameter.emitOpError() << "is sharded along '" << axis << "' but has a global type";
        error.attachNote(parameter.getLoc()) << "spmd-localize makes types along an axis local";
        return error;
      }
  return success();
}

/// Chooses the unit of each parameter, and checks that the recipe's tables name units and parameters of the model.
LogicalResult UnitAssignment::assignParameters() {
  // Experts are sharded along other axes than other parameters: they are in separate units.
  std::vector<bool> isExpert;
  for (model::ParameterOp parameter : parameters)
    isExpert.push_back(tensor::isSharded(parameter, AxisRole::expert));
  if (!plan.error.empty())
    return emit(inputError(recipe.origin(keys::units) + ": " + plan.error));
  if (recipe.mesh.expert > 1)
    separateUnits(plan, isExpert, ".experts");
  if (failed(emit(checkTypes(recipe, units, plan))))
    return failure();
  for (StringRef key : {keys::reshardAfterForward, keys::reshardAfterBackward, keys::unshardInBackward, "gradient.sync",
                        "gradient.divide", keys::forwardPrefetch, keys::backwardPrefetch})
    if (failed(emit(recipe.checkNames(key, "unit", plan.units))))
      return failure();
  if (failed(emit(checkOffload(recipe, plan.units, outermostBlocks(module)))))
    return failure();
  for (const std::string &warning : recipe.uselessGlobs("sharding.replicated", "parameter", names))
    emitWarning(UnknownLoc::get(module.getContext())) << warning;
  return emit(recipe.checkNames(keys::shardingDim, "parameter", names));
}

LogicalResult UnitAssignment::createMesh() {
  Result<llvm::SmallVector<std::int64_t>> found = shardAxisSizes(recipe, plan.units);
  if (!found.isOk())
    return emit(found.status());
  shardAxes = *found;
  const std::int64_t experts = recipe.mesh.expert;
  if (shardAxes.size() > 1 && experts > 1)
    return emit(inputError(recipe.origin(keys::reshardAfterForward) +
                           ": a number of ranks as 'sharding.reshard_after_forward' cannot be combined with "
                           "'mesh.expert' above 1"));
  SmallVector<Attribute> axes, roles;
  SmallVector<std::int64_t> sizes;
  const auto add = [&](AxisRole role, std::int64_t size, StringRef name = {}) {
    axes.push_back(builder.getStringAttr(name.empty() ? stringifyAxisRole(role) : name));
    roles.push_back(builder.getAttr<spmd::AxisRoleAttr>(role));
    sizes.push_back(size);
  };
  add(AxisRole::replicate, recipe.mesh.replicate);
  for (auto [name, size] : llvm::zip_equal(shardAxisNames(shardAxes.size()), shardAxes))
    add(AxisRole::shard, size, name);
  if (experts > 1)
    add(AxisRole::expert, experts);
  add(AxisRole::tensor, recipe.mesh.tensor);
  spmd::MeshOp::create(builder, module.getLoc(), "mesh", builder.getArrayAttr(axes), builder.getArrayAttr(roles),
                       sizes);
  return success();
}

LogicalResult UnitAssignment::createUnits() {
  llvm::StringSet<> taken;
  for (auto [index, name] : llvm::enumerate(plan.units)) {
    if (!taken.insert(name).second)
      return module.emitError() << "unit '" << name << "' has the name of another unit";
    SmallVector<Attribute> members;
    for (auto [parameter, unit] : llvm::zip(parameters, plan.unitOf))
      if (unit == index)
        members.push_back(FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
    auto unit = spmd::UnitOp::create(builder, module.getLoc(), name, /*root=*/index == UnitPlan::root,
                                     builder.getArrayAttr(members));
    const std::vector<std::string> &blocks = plan.blocks[index];
    if (index != UnitPlan::root && blocks != std::vector<std::string>{name})
      unit.setBlocksAttr(builder.getStrArrayAttr(SmallVector<StringRef>(blocks.begin(), blocks.end())));
    if (failed(emit(setUnitPolicy(unit, recipe, shardAxes))))
      return failure();
  }
  return success();
}

/// Sets each parameter's unit, and the dim along which it is sharded.
LogicalResult UnitAssignment::placeParameters() {
  bool sharded = recipe.sharding.strategy != ShardingStrategy::no_shard;
  const Strings &replicated = recipe.sharding.replicated;
  for (auto [parameter, unit] : llvm::zip(parameters, plan.unitOf)) {
    parameter->setAttr("unit", builder.getStringAttr(plan.units[unit]));
    StringRef name = parameter.getSymName();
    // A scalar has no dim to shard.
    if (!sharded || parameter.getType().getRank() == 0 ||
        llvm::any_of(replicated, [&](const std::string &glob) { return matchesGlob(glob, name); }))
      continue;
    Result<std::int64_t> dim = dimOf(recipe, parameter);
    if (!dim.isOk())
      return emit(dim.status());
    parameter->setAttr("dim", builder.getI64IntegerAttr(*dim));
  }
  return success();
}

void AssignUnits::runOnOperation() {
  ModuleOp module = getOperation();
  // A second run changes nothing.
  if (spmd::meshOf(module))
    return;
  FailureOr<Recipe> recipe =
      recipeFor(module, meshShard, meshReplicate, meshTensor, meshExpert, strategy, units, replicated, dim,
                reshardAfterForward, reshardBeforeBackward, reshardAfterBackward, unshardInBackward, microbatches,
                gradientSync, gradientDivide, offload);
  if (failed(recipe))
    return signalPassFailure();
  for (auto [key, isOpen] : {std::pair(keys::units, recipe->sharding.choosesUnits()),
                             std::pair(keys::reshardAfterBackward, recipe->sharding.choosesAfterBackward()),
                             std::pair(keys::memoryOffload, recipe->memory.choosesOffload())})
    if (isOpen) {
      emitError(UnknownLoc::get(&getContext())) << recipe->refuseOpenChoice(key).message();
      return signalPassFailure();
    }
  for (const std::string &remark : ineffectiveSettings(*recipe))
    emitRemark(UnknownLoc::get(&getContext())) << remark;
  if (failed(UnitAssignment(module, *recipe).run()))
    signalPassFailure();
}
