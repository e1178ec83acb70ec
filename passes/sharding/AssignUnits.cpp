//===- AssignUnits.cpp - the mesh, the units and each parameter's placement ------------===//
//
// Only this pass reads the recipe's settings of units and shards: it puts the mesh, the units with their policies, and
// the unit and the sharded dim of each parameter (none: replicated) on the IR.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/UnitPolicy.h"
#include "passes/sharding/tensor/AxisOptions.h"
#include "passes/solver/UnitPlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

namespace sluice {
#define GEN_PASS_DEF_ASSIGNUNITS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Blocks of all entries in the order of their first op, and where parameters are used.
struct Uses {
  std::vector<std::string> blocks;
  std::vector<std::size_t> firstOps;
  struct Parameter {
    std::vector<std::string> blocks;
    std::size_t first = ~std::size_t(0);
  };
  llvm::StringMap<Parameter> ofParameter;

  explicit Uses(ModuleOp module) {
    std::size_t position = 0;
    for (auto function : module.getOps<func::FuncOp>())
      function.walk<WalkOrder::PreOrder>([&](Operation *op) {
        ++position;
        addBlocks(model::blockOf(op), position);
        for (OpOperand &operand : op->getOpOperands()) {
          // A use is at the reader of the value; the read itself may be anywhere.
          auto read = operand.get().getDefiningOp<model::ReadOp>();
          if (!read || read.getState() || model::phaseOf(read) == Phase::update)
            continue;
          Parameter &parameter = ofParameter[read.getParameter()];
          parameter.blocks.push_back(model::blockOf(op).str());
          parameter.first = std::min(parameter.first, position);
        }
      });
  }

private:
  /// A path and the paths around it, outermost first.
  void addBlocks(StringRef path, std::size_t position) {
    for (std::size_t end = 0; end < path.size();) {
      end = std::min(path.find('/', end + 1), path.size());
      std::string block = path.take_front(end).str();
      if (known.insert(block).second) {
        blocks.push_back(block);
        firstOps.push_back(position);
      }
    }
  }
  llvm::StringSet<> known;
};

UnitRequest requestOf(const Recipe::Sharding &sharding) {
  UnitRequest request;
  if (auto *rule = std::get_if<std::string>(&sharding.units)) {
    StringRef text = *rule;
    if (text == "root") {
      request.kind = UnitRequest::Kind::root;
    } else if (text.consume_front("bytes:")) {
      std::int64_t bytes = 0;
      (void)parseByteCount(text, bytes);
      request.kind = UnitRequest::Kind::bytes;
      request.bytes = static_cast<std::uint64_t>(bytes);
    }
  } else {
    request.kind = UnitRequest::Kind::table;
    for (const auto &[name, members] : std::get<1>(sharding.units)) {
      auto *glob = std::get_if<std::string>(&members);
      request.table.push_back({name, glob ? Strings{*glob} : std::get<Strings>(members)});
    }
  }
  request.matches = [](const std::string &glob, const std::string &name) { return matchesGlob(glob, name); };
  return request;
}

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
    return recipe.refuse("sharding.dim", "parameter '" + parameter.getSymName().str() + "'",
                         ", expected a dim below " + std::to_string(shape.size()) + " but got " + std::to_string(dim));
  return dim;
}

/// The parameters of a unit are gathered by one collective, and have one element type.
Status checkTypes(const Recipe &recipe, ArrayRef<model::ParameterOp> parameters, const Uses &uses,
                  const UnitPlan &plan) {
  if (recipe.mesh.shard * recipe.mesh.replicate * recipe.mesh.expert == 1)
    return Status::ok();
  std::vector<model::ParameterOp> first(plan.units.size());
  for (auto [index, unit] : llvm::enumerate(plan.unitOf)) {
    model::ParameterOp parameter = parameters[index];
    if (!uses.ofParameter.count(parameter.getSymName()))
      continue;
    if (!first[unit])
      first[unit] = parameter;
    Type element = parameter.getType().getElementType(), before = first[unit].getType().getElementType();
    if (element == before)
      continue;
    std::string text;
    llvm::raw_string_ostream(text) << before << " of '" << first[unit].getSymName() << "' and " << element << " of '"
                                   << parameter.getSymName() << "'";
    return inputError(recipe.origin("sharding.units") + ": unit '" + plan.units[unit] +
                      "' has parameters of two element types, " + text + "; separate units may have them");
  }
  return Status::ok();
}

/// The steps for one module. Each step emits its errors.
class UnitAssignment {
public:
  UnitAssignment(ModuleOp module, const Recipe &recipe)
      : module(module), recipe(recipe), uses(module), builder(OpBuilder::atBlockBegin(module.getBody())) {
    // States are in no unit: they are replicated, and each rank updates them.
    for (auto parameter : module.getOps<model::ParameterOp>())
      if (!parameter.isState()) {
        parameters.push_back(parameter);
        names.push_back(parameter.getSymName().str());
      }
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

  UnitParameter describe(model::ParameterOp parameter) const;
  LogicalResult emit(const Status &status) {
    if (status.isOk())
      return success();
    return emitError(UnknownLoc::get(module.getContext())) << status.message();
  }

  ModuleOp module;
  const Recipe &recipe;
  Uses uses;
  OpBuilder builder;
  std::vector<model::ParameterOp> parameters;
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

UnitParameter UnitAssignment::describe(model::ParameterOp parameter) const {
  Uses::Parameter used = uses.ofParameter.lookup(parameter.getSymName());
  UnitParameter described{parameter.getSymName().str(), used.blocks};
  if (auto aliases = parameter.getAliases())
    for (auto alias : aliases->getAsRange<StringAttr>())
      described.aliases.push_back(alias.getValue().str());
  described.bytes = static_cast<std::uint64_t>(parameter.getType().getNumElements()) *
                    (parameter.getType().getElementTypeBitWidth() / 8);
  described.firstUse = used.first;
  return described;
}

/// Parameters that are sharded along a model-parallel axis have local types.
LogicalResult UnitAssignment::checkTypesAreLocal() {
  for (model::ParameterOp parameter : parameters)
    for (StringRef axis : {tensor::expertAxis, tensor::tensorAxis})
      if (tensor::isSharded(parameter, axis) && !tensor::isLocal(module, axis)) {
        InFlightDiagnostic error = parameter.emitOpError() << "is sharded along '" << axis << "' but has a global type";
        error.attachNote(parameter.getLoc()) << "spmd-localize makes types along an axis local";
        return error;
      }
  return success();
}

/// Chooses the unit of each parameter, and checks that the recipe's tables name units and parameters of the model.
LogicalResult UnitAssignment::assignParameters() {
  std::vector<UnitParameter> list;
  // Experts are sharded along other axes than other parameters: they are in separate units.
  std::vector<bool> isExpert;
  for (model::ParameterOp parameter : parameters) {
    list.push_back(describe(parameter));
    isExpert.push_back(tensor::isSharded(parameter, tensor::expertAxis));
  }
  plan = planUnits(list, uses.blocks, uses.firstOps, requestOf(recipe.sharding));
  if (!plan.error.empty())
    return emit(inputError(recipe.origin("sharding.units") + ": " + plan.error));
  if (recipe.mesh.expert > 1)
    separateUnits(plan, isExpert, ".experts");
  if (failed(emit(checkTypes(recipe, parameters, uses, plan))))
    return failure();
  for (StringRef key :
       {"sharding.reshard_after_forward", "sharding.reshard_after_backward", "sharding.unshard_in_backward",
        "gradient.sync", "gradient.divide", "schedule.forward_prefetch", "schedule.backward_prefetch"})
    if (failed(emit(recipe.checkNames(key, "unit", plan.units))))
      return failure();
  return failure(failed(emit(recipe.checkNames("sharding.dim", "parameter", names))) ||
                 failed(emit(recipe.checkNames("sharding.replicated", "parameter", names))));
}

LogicalResult UnitAssignment::createMesh() {
  Result<llvm::SmallVector<std::int64_t>> found = shardAxisSizes(recipe, plan.units);
  if (!found.isOk())
    return emit(found.status());
  shardAxes = *found;
  const std::int64_t experts = recipe.mesh.expert;
  if (shardAxes.size() > 1 && experts > 1)
    return emit(inputError(recipe.origin("sharding.reshard_after_forward") +
                           ": a number of ranks as 'sharding.reshard_after_forward' cannot be combined with "
                           "'mesh.expert' above 1"));
  SmallVector<Attribute> axes = {builder.getStringAttr("replicate")};
  SmallVector<std::int64_t> sizes = {recipe.mesh.replicate};
  for (const std::string &name : shardAxisNames(shardAxes.size()))
    axes.push_back(builder.getStringAttr(name));
  sizes.append(shardAxes.begin(), shardAxes.end());
  if (experts > 1) {
    axes.push_back(builder.getStringAttr("expert"));
    sizes.push_back(experts);
  }
  axes.push_back(builder.getStringAttr("tensor"));
  sizes.push_back(recipe.mesh.tensor);
  spmd::MeshOp::create(builder, module.getLoc(), "mesh", builder.getArrayAttr(axes), sizes);
  return success();
}

LogicalResult UnitAssignment::createUnits() {
  for (auto [index, name] : llvm::enumerate(plan.units)) {
    if (Operation *taken = SymbolTable::lookupSymbolIn(module, name)) {
      InFlightDiagnostic error = module.emitError() << "unit '" << name << "' has the name of another symbol";
      error.attachNote(taken->getLoc()) << "the other symbol is here";
      return failure();
    }
    SmallVector<Attribute> members;
    for (auto [parameter, unit] : llvm::zip(parameters, plan.unitOf))
      if (unit == index)
        members.push_back(FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
    auto unit = spmd::UnitOp::create(builder, module.getLoc(), name, builder.getArrayAttr(members));
    const std::vector<std::string> &blocks = plan.blocks[index];
    if (name != spmd::rootUnit && blocks != std::vector<std::string>{name})
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
  FailureOr<Recipe> recipe = recipeFor(
      module, meshShard, meshReplicate, meshTensor, meshExpert, strategy, units, replicated, dim, reshardAfterForward,
      reshardBeforeBackward, reshardAfterBackward, unshardInBackward, microbatches, gradientSync, gradientDivide);
  if (failed(recipe))
    return signalPassFailure();
  for (const std::string &remark : ineffectiveSettings(*recipe))
    emitRemark(UnknownLoc::get(&getContext())) << remark;
  if (failed(UnitAssignment(module, *recipe).run()))
    signalPassFailure();
}
