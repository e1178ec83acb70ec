//===- Emit.cpp - plan IR to the bytes of a plan file -------------------------------===//
#include "passes/emit/Emit.h"

#include "passes/emit/EmitContext.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/recipe/RecipeKeys.h"
#include "runtime/plan/Checker.h"
#include "runtime/plan/Reader.h"
#include "runtime/plan/Serialize.h"

#include <algorithm>

using namespace mlir;

namespace sluice {
namespace {

std::string textOf(ModuleOp module, llvm::StringRef name) {
  auto text = module->getAttrOfType<StringAttr>(name);
  return text ? text.str() : "";
}

std::int64_t integerOf(ModuleOp module, llvm::StringRef name) {
  auto integer = module->getAttrOfType<IntegerAttr>(name);
  return integer ? integer.getInt() : 0;
}

void emitRecipe(EmitContext &context, const Recipe &recipe) {
  for (const RecipeKey &key : recipeKeys())
    context.plan.recipe.push_back(key.name + " = " + printRecipeValue(key.read(recipe)));
  std::sort(context.plan.recipe.begin(), context.plan.recipe.end());
}

void emitHead(EmitContext &context, const Recipe &recipe) {
  plan::PlanT &plan = context.plan;
  plan.name = textOf(context.module, "model.name");
  plan.config = textOf(context.module, "model.config");
  plan.batch = integerOf(context.module, "model.batch");
  plan.sequence = integerOf(context.module, "model.sequence");
  plan.microbatches = recipe.gradient.microbatches;
  plan.target = std::make_unique<plan::TargetT>();
  plan.target->device = stringifyEnum(recipe.target.device);
  plan.target->threads = recipe.target.threads;
  plan.target->isa = stringifyEnum(*recipe.target.isa);
  if (recipe.target.arch)
    plan.target->arch = stringifyEnum(*recipe.target.arch);
}

LogicalResult refuse(ModuleOp module, const char *who, const Status &status) {
  InFlightDiagnostic error = emitError(module.getLoc(), "internal error: ") << who << " refuses the plan: " << status.message();
  for (const std::string &note : status.notes())
    error.attachNote() << note;
  return error;
}

} // namespace

LogicalResult emitPlan(ModuleOp module, std::vector<std::uint8_t> &bytes) {
  EmitContext context(module);
  FailureOr<Recipe> recipe = recipeFor(module);
  if (failed(recipe))
    return failure();
  emitHead(context, *recipe);
  emitRecipe(context, *recipe);
  emitTables(context);
  emitProgram(context);
  if (context.failed)
    return failure();
  emitEntries(context);
  if (context.failed)
    return failure();
  bytes = serializePlan(context.plan);
  Result<PlanFile> read = parsePlan(bytes, "plan");
  if (!read.isOk())
    return refuse(module, "the reader", read.status());
  if (Status status = checkPlan(read->plan); !status.isOk())
    return refuse(module, "the checker", status);
  return success();
}

} // namespace sluice
