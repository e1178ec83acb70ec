//===- Emit.cpp - plan IR to the bytes of a plan file -------------------------------===//
#include "passes/emit/Emit.h"

#include "dialect/model/Attributes.h"
#include "dialect/plan/Accesses.h"
#include "passes/emit/EmitContext.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/recipe/RecipeKeys.h"
#include "runtime/plan/Serialize.h"

#include "llvm/ADT/StringExtras.h"

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

std::unique_ptr<plan::LearningRateT> learningRateOf(const Recipe &recipe) {
  auto rate = std::make_unique<plan::LearningRateT>();
  rate->shape = planEnum<plan::RateShape>(recipe.lrSchedule.name);
  rate->peak = recipe.optimizer.lr;
  rate->minimum = recipe.lrSchedule.minLr;
  rate->warmup = recipe.lrSchedule.warmupSteps;
  rate->total = recipe.lrSchedule.totalSteps;
  rate->decay = recipe.lrSchedule.decaySteps.value_or(0);
  return rate;
}

void emitHead(EmitContext &context, const Recipe &recipe) {
  plan::PlanT &plan = context.plan;
  setVersions(plan);
  plan.name = textOf(context.module, model::nameName);
  plan.config = textOf(context.module, model::configName);
  plan.batch = integerOf(context.module, model::batchName);
  plan.sequence = integerOf(context.module, model::sequenceName);
  plan.microbatches = recipe.gradient.microbatches.at("train_step");
  plan.target = std::make_unique<plan::TargetT>();
  plan.target->device = stringifyEnum(recipe.target.device);
  plan.target->threads = recipe.target.threads;
  plan.target->isa = stringifyEnum(*recipe.target.isa);
  if (recipe.target.arch)
    plan.target->arch = stringifyEnum(*recipe.target.arch);
  plan.learning_rate = learningRateOf(recipe);
  plan.register_arena = recipe.collective.registerBuffers;
  plan.max_ctas = recipe.collective.maxCtas;
  plan.copy_engines = recipe.collective.copyEngines;
}

/// Counts are equal on all ranks and are not averaged.
void emitAverages(EmitContext &context, const Recipe &recipe) {
  for (const auto &variable : context.plan.variables)
    variable->averaged = recipe.statistics.sync == StatisticsSync::last &&
                         context.plan.buffers[variable->buffer]->dtype <= plan::DType::f16;
}

/// Address space for the file: a page is taken only when it is written, and a file that outgrows it is moved.
std::size_t roomFor(ModuleOp module) {
  std::size_t instructions = 0;
  for (auto entry : module.getOps<plan_ir::EntryOp>())
    plan_ir::forEachInstruction(entry, [&](Operation *, std::int64_t, plan_ir::SectionOp) { ++instructions; });
  return (1 << 20) + instructions * 1024;
}

} // namespace

llvm::FailureOr<PlanBytes> emitPlan(ModuleOp module) {
  EmitContext context(module, roomFor(module));
  FailureOr<Recipe> recipe = recipeFor(module);
  if (failed(recipe))
    return failure();
  emitHead(context, *recipe);
  const std::string digest = llvm::fromHex(textOf(module, model::sourceDigestName));
  context.plan.model_digest.assign(digest.begin(), digest.end());
  emitRecipe(context, *recipe);
  emitTables(context);
  emitAverages(context, *recipe);
  if (context.failed)
    return failure();
  emitProgram(context);
  emitEntries(context);
  if (context.failed)
    return failure();
  return context.writer.finish(context.plan);
}

} // namespace sluice
