//===- AssignUnits.cpp - the mesh, the units and each parameter's placement ------------===//
//
// What the recipe says of sharding is put on the IR here, and here alone: the mesh's sizes, which parameters make a
// unit, which units reshard after the forward, and the dim that a parameter is split on (none: it stays whole).
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/UnitKnobs.h"
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
          // A value belongs to those who read it; the read itself may stand anywhere.
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
  /// A path and those around it, outermost first.
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

/// The dim that a parameter is split on; its rank where it is split by elements.
Result<std::int64_t> dimOf(const Recipe &recipe, model::ParameterOp parameter) {
  ArrayRef<std::int64_t> shape = parameter.getType().getShape();
  const auto &setting = recipe.sharding.dim.at(parameter.getSymName());
  std::int64_t dim = 0;
  if (auto *number = std::get_if<std::int64_t>(&setting))
    dim = *number;
  else if (std::get<ShardDim>(setting) == ShardDim::largest)
    dim = std::max_element(shape.begin(), shape.end()) - shape.begin();
  // One dim is all dims.
  else if (std::get<ShardDim>(setting) == ShardDim::flat)
    return shape.size() == 1 ? 0 : static_cast<std::int64_t>(shape.size());
  if (dim < 0 || dim >= static_cast<std::int64_t>(shape.size()))
    return inputError(recipe.origin("sharding.dim") + ": value of 'sharding.dim' for parameter '" +
                      parameter.getSymName().str() + "', expected a dim below " + std::to_string(shape.size()) +
                      " but got " + std::to_string(dim));
  return dim;
}

/// What crosses ranks together is of one element type.
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
    return inputError(recipe.origin("sharding.units") + ": parameters of unit '" + plan.units[unit] +
                      "', expected one element type (other units may have another) but got " + text);
  }
  return Status::ok();
}

/// One module's, step by step. Each step says what is wrong, if it fails.
class UnitAssignment {
public:
  UnitAssignment(ModuleOp module, const Recipe &recipe)
      : module(module), recipe(recipe), uses(module), builder(OpBuilder::atBlockBegin(module.getBody())) {
    // What is no parameter is in no unit: whole, and each rank's own.
    for (auto parameter : module.getOps<model::ParameterOp>())
      if (!parameter.isState()) {
        parameters.push_back(parameter);
        names.push_back(parameter.getSymName().str());
      }
  }

  LogicalResult run() {
    return failure(failed(checkTypesAreLocal()) || failed(makePlan()) || failed(checkNames()) || failed(makeMesh()) ||
                   failed(makeUnits()) || failed(placeParameters()));
  }

private:
  LogicalResult checkTypesAreLocal();
  LogicalResult makePlan();
  LogicalResult checkNames();
  LogicalResult makeMesh();
  LogicalResult makeUnits();
  LogicalResult placeParameters();

  UnitParameter describe(model::ParameterOp parameter) const;
  LogicalResult take(const Status &status) {
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
  /// Sizes of the axes that `shard` is taken apart into.
  llvm::SmallVector<std::int64_t> parts;
};

struct AssignUnits : sluice::impl::AssignUnitsBase<AssignUnits> {
  using AssignUnitsBase::AssignUnitsBase;
  void runOnOperation() override;
};

} // namespace

UnitParameter UnitAssignment::describe(model::ParameterOp parameter) const {
  Uses::Parameter used = uses.ofParameter.lookup(parameter.getSymName());
  UnitParameter made{parameter.getSymName().str(), used.blocks};
  if (auto aliases = parameter.getAliases())
    for (auto alias : aliases->getAsRange<StringAttr>())
      made.aliases.push_back(alias.getValue().str());
  made.bytes = static_cast<std::uint64_t>(parameter.getType().getNumElements()) *
               (parameter.getType().getElementTypeBitWidth() / 8);
  made.firstUse = used.first;
  return made;
}

/// Parameters that are sharded along an axis of parts have the types of these parts.
LogicalResult UnitAssignment::checkTypesAreLocal() {
  for (model::ParameterOp parameter : parameters)
    for (StringRef axis : {StringRef(tensor::expertAxis), StringRef(tensor::tensorAxis)})
      if (tensor::isSharded(parameter, axis) && !tensor::isLocal(module, axis)) {
        InFlightDiagnostic error = parameter.emitOpError() << "is sharded along '" << axis << "' but has a global type";
        error.attachNote(parameter.getLoc()) << "spmd-localize makes types along an axis local";
        return error;
      }
  return success();
}

/// Which parameters make a unit.
LogicalResult UnitAssignment::makePlan() {
  std::vector<UnitParameter> list;
  // Experts are sharded over other axes than the rest: in units of their own.
  std::vector<bool> isExpert;
  for (model::ParameterOp parameter : parameters) {
    list.push_back(describe(parameter));
    isExpert.push_back(tensor::isSharded(parameter, tensor::expertAxis));
  }
  plan = planUnits(list, uses.blocks, uses.firstOps, requestOf(recipe.sharding));
  if (!plan.error.empty())
    return take(inputError(recipe.origin("sharding.units") + ": " + plan.error));
  if (recipe.mesh.expert > 1)
    separateUnits(plan, isExpert, ".experts");
  return take(checkTypes(recipe, parameters, uses, plan));
}

/// Tables of the recipe name units and parameters that are there.
LogicalResult UnitAssignment::checkNames() {
  for (StringRef key :
       {"sharding.reshard_after_forward", "sharding.reshard_after_backward", "sharding.unshard_in_backward",
        "gradient.sync", "gradient.divide", "schedule.forward_prefetch", "schedule.backward_prefetch"})
    if (failed(take(recipe.checkNames(key, "unit", plan.units))))
      return failure();
  if (failed(take(recipe.checkNames("sharding.dim", "parameter", names))))
    return failure();
  return take(recipe.checkNames("sharding.replicated", "parameter", names));
}

LogicalResult UnitAssignment::makeMesh() {
  Result<llvm::SmallVector<std::int64_t>> found = shardParts(recipe, plan.units);
  if (!found.isOk())
    return take(found.status());
  parts = *found;
  const std::int64_t experts = recipe.mesh.expert;
  if (parts.size() > 1 && experts > 1)
    return take(inputError(recipe.origin("sharding.reshard_after_forward") +
                           ": value of 'sharding.reshard_after_forward', expected true, false or \"default\" with "
                           "'mesh.expert' above 1 but got a number of ranks"));
  SmallVector<Attribute> axes = {builder.getStringAttr("replicate")};
  SmallVector<std::int64_t> sizes = {recipe.mesh.replicate};
  for (const std::string &name : shardPartNames(parts.size()))
    axes.push_back(builder.getStringAttr(name));
  sizes.append(parts.begin(), parts.end());
  // Meshes of data and tensor ranks alone are as they were before there were experts.
  if (experts > 1) {
    axes.push_back(builder.getStringAttr("expert"));
    sizes.push_back(experts);
  }
  axes.push_back(builder.getStringAttr("tensor"));
  sizes.push_back(recipe.mesh.tensor);
  spmd::MeshOp::create(builder, module.getLoc(), "mesh", builder.getArrayAttr(axes), sizes);
  return success();
}

LogicalResult UnitAssignment::makeUnits() {
  for (auto [index, name] : llvm::enumerate(plan.units)) {
    if (Operation *taken = SymbolTable::lookupSymbolIn(module, name)) {
      InFlightDiagnostic error = module.emitError()
                                 << "name of a unit, expected one that no other symbol has but got '" << name << "'";
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
    if (failed(take(setUnitKnobs(unit, recipe, parts))))
      return failure();
  }
  return success();
}

/// Each parameter's unit, and the dim that it is split on.
LogicalResult UnitAssignment::placeParameters() {
  bool sharded = recipe.sharding.strategy != ShardingStrategy::no_shard;
  const Strings &replicated = recipe.sharding.replicated;
  for (auto [parameter, unit] : llvm::zip(parameters, plan.unitOf)) {
    parameter->setAttr("unit", builder.getStringAttr(plan.units[unit]));
    StringRef name = parameter.getSymName();
    // A scalar has no dim to split.
    if (!sharded || parameter.getType().getRank() == 0 ||
        llvm::any_of(replicated, [&](const std::string &glob) { return matchesGlob(glob, name); }))
      continue;
    Result<std::int64_t> dim = dimOf(recipe, parameter);
    if (!dim.isOk())
      return take(dim.status());
    parameter->setAttr("dim", builder.getI64IntegerAttr(*dim));
  }
  return success();
}

void AssignUnits::runOnOperation() {
  ModuleOp module = getOperation();
  // Assigned before.
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
