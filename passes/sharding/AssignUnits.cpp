//===- AssignUnits.cpp - the mesh, the units and each parameter's placement ------------===//
//
// What the recipe says of sharding is put on the IR here, and here alone: the mesh's sizes, which parameters make a
// unit, which units reshard after the forward, and the dim that a parameter is split on (none: it stays whole).
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Model.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/AttachRecipe.h"
#include "passes/recipe/Recipe.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/UnitKnobs.h"
#include "passes/sharding/tensor/Layout.h"
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
        addBlocks(spmd::blockOf(op), position);
        for (OpOperand &operand : op->getOpOperands()) {
          // A value belongs to those who read it; the read itself may stand anywhere.
          auto read = operand.get().getDefiningOp<model::ReadOp>();
          if (!read || read.getState() || spmd::phaseOf(read) == "update")
            continue;
          Parameter &parameter = ofParameter[read.getParameter()];
          parameter.blocks.push_back(spmd::blockOf(op).str());
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

UnitRequest requestOf(const RecipeView &recipe) {
  UnitRequest request;
  Attribute value = recipe.raw("sharding.units");
  std::string word = recipe.string("sharding.units");
  if (word == "root") {
    request.kind = UnitRequest::Kind::root;
  } else if (StringRef(word).starts_with("bytes:")) {
    std::int64_t bytes = 0;
    (void)parseByteCount(StringRef(word).drop_front(6), bytes);
    request.kind = UnitRequest::Kind::bytes;
    request.bytes = static_cast<std::uint64_t>(bytes);
  } else if (auto table = dyn_cast_or_null<DictionaryAttr>(value)) {
    request.kind = UnitRequest::Kind::table;
    for (NamedAttribute entry : table) {
      std::vector<std::string> globs;
      if (auto text = dyn_cast<StringAttr>(entry.getValue()))
        globs.push_back(text.getValue().str());
      else
        for (auto glob : cast<ArrayAttr>(entry.getValue()).getAsRange<StringAttr>())
          globs.push_back(glob.getValue().str());
      request.table.push_back({entry.getName().str(), std::move(globs)});
    }
  }
  request.matches = [](const std::string &glob, const std::string &name) { return matchesGlob(glob, name); };
  return request;
}

/// The dim that a parameter is split on; its rank where it is split by elements.
Result<std::int64_t> dimOf(const RecipeView &recipe, model::ParameterOp parameter) {
  ArrayRef<std::int64_t> shape = parameter.getType().getShape();
  Attribute value = recipe.forName("sharding.dim", parameter.getSymName());
  std::int64_t dim = 0;
  if (auto word = dyn_cast_or_null<StringAttr>(value); word && word.getValue() == "largest")
    dim = std::max_element(shape.begin(), shape.end()) - shape.begin();
  // One dim is all dims.
  else if (word && word.getValue() == "flat")
    return shape.size() == 1 ? 0 : static_cast<std::int64_t>(shape.size());
  else if (auto number = dyn_cast_or_null<IntegerAttr>(value))
    dim = number.getInt();
  if (dim < 0 || dim >= static_cast<std::int64_t>(shape.size()))
    return inputError(recipe.origin("sharding.dim") + ": value of 'sharding.dim' for parameter '" +
                      parameter.getSymName().str() + "', expected a dim below " + std::to_string(shape.size()) +
                      " but got " + std::to_string(dim));
  return dim;
}

/// What crosses ranks together is of one element type.
Status checkTypes(const RecipeView &recipe, ArrayRef<model::ParameterOp> parameters, const Uses &uses,
                  const UnitPlan &plan) {
  if (recipe.integer("mesh.shard") * recipe.integer("mesh.replicate") * recipe.integer("mesh.expert") == 1)
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

struct AssignUnits : sluice::impl::AssignUnitsBase<AssignUnits> {
  void runOnOperation() override;
};

} // namespace

void AssignUnits::runOnOperation() {
  ModuleOp module = getOperation();
  // Assigned before.
  if (spmd::meshOf(module))
    return;
  Result<Recipe> checked = recipeOf(module);
  if (!checked.isOk()) {
    module.emitError() << checked.status().message();
    return signalPassFailure();
  }
  RecipeView recipe(module);
  auto refuse = [&](const Status &status) {
    emitError(UnknownLoc::get(&getContext())) << status.message();
    signalPassFailure();
  };
  for (const std::string &remark : uselessKnobs(recipe))
    emitRemark(UnknownLoc::get(&getContext())) << remark;
  // What is no parameter is in no unit: whole, and each rank's own.
  auto parameters = llvm::to_vector(llvm::make_filter_range(
      module.getOps<model::ParameterOp>(), [](model::ParameterOp parameter) { return !parameter.isState(); }));
  Uses uses(module);
  std::vector<UnitParameter> list;
  std::vector<std::string> names;
  // Experts are sharded over other axes than the rest: in units of their own.
  std::vector<bool> isExpert;
  for (model::ParameterOp parameter : parameters) {
    Uses::Parameter used = uses.ofParameter.lookup(parameter.getSymName());
    UnitParameter made{parameter.getSymName().str(), used.blocks};
    if (auto aliases = parameter.getAliases())
      for (auto alias : aliases->getAsRange<StringAttr>())
        made.aliases.push_back(alias.getValue().str());
    made.bytes = static_cast<std::uint64_t>(parameter.getType().getNumElements()) *
                 (parameter.getType().getElementTypeBitWidth() / 8);
    made.firstUse = used.first;
    names.push_back(made.name);
    list.push_back(std::move(made));
    auto split = parameter->getAttrOfType<DictionaryAttr>(tensor::splitName);
    isExpert.push_back(split && tensor::axisOf(split) == tensor::expertAxis);
  }
  UnitPlan plan = planUnits(list, uses.blocks, uses.firstOps, requestOf(recipe));
  if (!plan.error.empty())
    return refuse(inputError(recipe.origin("sharding.units") + ": " + plan.error));
  if (recipe.integer("mesh.expert") > 1)
    setApart(plan, isExpert, ".experts");
  if (Status status = checkTypes(recipe, parameters, uses, plan); !status.isOk())
    return refuse(status);
  for (StringRef key : {"sharding.reshard_after_forward", "sharding.reshard_after_backward",
                        "sharding.unshard_in_backward", "gradient.sync", "gradient.divide", "schedule.forward_prefetch",
                        "schedule.backward_prefetch"})
    if (Status status = recipe.checkNames(key, "unit", plan.units); !status.isOk())
      return refuse(status);
  if (Status status = recipe.checkNames("sharding.dim", "parameter", names); !status.isOk())
    return refuse(status);
  if (Status status = recipe.checkGlobs("sharding.replicated", "parameter", names); !status.isOk())
    return refuse(status);

  Result<llvm::SmallVector<std::int64_t>> parts = shardParts(recipe, plan.units);
  if (!parts.isOk())
    return refuse(parts.status());
  if (parts->size() > 1 && recipe.integer("mesh.expert") > 1)
    return refuse(inputError(recipe.origin("sharding.reshard_after_forward") +
                             ": value of 'sharding.reshard_after_forward', expected true, false or \"default\" with "
                             "'mesh.expert' above 1 but got a number of ranks"));
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  SmallVector<Attribute> axes = {builder.getStringAttr("replicate")};
  SmallVector<std::int64_t> sizes = {recipe.integer("mesh.replicate")};
  for (const std::string &name : shardPartNames(parts->size()))
    axes.push_back(builder.getStringAttr(name));
  sizes.append(parts->begin(), parts->end());
  // Meshes of data and tensor ranks alone are as they were before there were experts.
  if (std::int64_t experts = recipe.integer("mesh.expert"); experts > 1) {
    axes.push_back(builder.getStringAttr("expert"));
    sizes.push_back(experts);
  }
  axes.push_back(builder.getStringAttr("tensor"));
  sizes.push_back(recipe.integer("mesh.tensor"));
  spmd::MeshOp::create(builder, module.getLoc(), "mesh", builder.getArrayAttr(axes), sizes);
  for (auto [index, name] : llvm::enumerate(plan.units)) {
    if (Operation *taken = SymbolTable::lookupSymbolIn(module, name)) {
      InFlightDiagnostic error = module.emitError()
                                 << "name of a unit, expected one that no other symbol has but got '" << name << "'";
      error.attachNote(taken->getLoc()) << "the other symbol is here";
      return signalPassFailure();
    }
    SmallVector<Attribute> members;
    for (auto [parameter, unit] : llvm::zip(parameters, plan.unitOf))
      if (unit == index)
        members.push_back(FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
    auto unit = spmd::UnitOp::create(builder, module.getLoc(), name, builder.getArrayAttr(members));
    if (name != spmd::rootUnit && plan.blocks[index] != std::vector<std::string>{name})
      unit.setBlocksAttr(builder.getStrArrayAttr(SmallVector<StringRef>(plan.blocks[index].begin(), plan.blocks[index].end())));
    if (Status status = setUnitKnobs(unit, recipe, *parts); !status.isOk())
      return refuse(status);
  }

  bool sharded = recipe.string("sharding.strategy") != "no_shard";
  std::vector<std::string> replicated = recipe.strings("sharding.replicated");
  for (auto [parameter, unit] : llvm::zip(parameters, plan.unitOf)) {
    parameter->setAttr("unit", builder.getStringAttr(plan.units[unit]));
    // A scalar has no dim to split.
    if (!sharded || parameter.getType().getRank() == 0 || llvm::any_of(replicated, [&](const std::string &glob) {
          return matchesGlob(glob, model::ParameterOp(parameter).getSymName());
        }))
      continue;
    Result<std::int64_t> dim = dimOf(recipe, parameter);
    if (!dim.isOk())
      return refuse(dim.status());
    parameter->setAttr("dim", builder.getI64IntegerAttr(*dim));
  }
}
