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
#include "passes/recipe/RecipeAttr.h"
#include "passes/solver/UnitPlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {
#define GEN_PASS_DEF_ASSIGNUNITS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Outermost blocks of all entries in the order of their first op, and where parameters are used.
struct Uses {
  std::vector<std::string> blocks;
  llvm::StringMap<std::vector<std::string>> ofParameter;

  explicit Uses(ModuleOp module) {
    for (auto function : module.getOps<func::FuncOp>())
      function.walk([&](Operation *op) {
        std::string block = spmd::outermostBlock(spmd::blockOf(op)).str();
        if (!block.empty() && !llvm::is_contained(blocks, block))
          blocks.push_back(block);
        auto read = dyn_cast<model::ReadOp>(op);
        if (!read || read.getState() || spmd::phaseOf(read) == "update")
          return;
        // A value belongs to those who read it; the read itself may stand anywhere.
        for (Operation *user : read->getUsers())
          ofParameter[read.getParameter()].push_back(spmd::outermostBlock(spmd::blockOf(user)).str());
      });
  }
};

/// Whether a unit's parameters are released behind the forward, by the recipe.
std::optional<bool> reshards(const RecipeView &recipe, ModuleOp module, StringRef unit) {
  Attribute value = recipe.forName("sharding.reshard_after_forward", unit);
  if (auto flag = dyn_cast_or_null<BoolAttr>(value))
    return flag.getValue();
  auto word = dyn_cast_or_null<StringAttr>(value);
  if (word && word.getValue() != "default") {
    module.emitError() << "recipe key 'sharding.reshard_after_forward', expected \"default\", true or false but got "
                       << value;
    return std::nullopt;
  }
  StringRef strategy = recipe.string("sharding.strategy");
  return !strategy.ends_with("shard_grad_op") && unit != spmd::rootUnit;
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
  auto parameters = llvm::to_vector(module.getOps<model::ParameterOp>());
  Uses uses(module);
  std::vector<UnitParameter> list;
  for (model::ParameterOp parameter : parameters)
    list.push_back({parameter.getSymName().str(), uses.ofParameter.lookup(parameter.getSymName())});
  UnitPlan plan = planUnits(list, uses.blocks, recipe.string("sharding.units") == "block");

  auto builder = OpBuilder::atBlockBegin(module.getBody());
  std::int64_t sizes[] = {recipe.integer("mesh.replicate"), recipe.integer("mesh.shard"),
                          recipe.integer("mesh.tensor")};
  spmd::MeshOp::create(builder, module.getLoc(), "mesh", builder.getStrArrayAttr({"replicate", "shard", "tensor"}),
                       sizes);
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
    std::optional<bool> reshard = reshards(recipe, module, name);
    if (!reshard)
      return signalPassFailure();
    spmd::UnitOp::create(builder, module.getLoc(), name, builder.getArrayAttr(members), *reshard);
  }

  bool sharded = recipe.string("sharding.strategy") != "no_shard";
  for (auto [parameter, unit] : llvm::zip(parameters, plan.unitOf)) {
    parameter->setAttr("unit", builder.getStringAttr(plan.units[unit]));
    // A scalar has no dim to split.
    if (sharded && parameter.getType().getRank() > 0)
      parameter->setAttr("dim", builder.getI64IntegerAttr(0));
  }
}
