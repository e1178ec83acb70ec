//===- VariantCompiler.cpp - compiles variants of a model and recipe --------------------------===//
#include "passes/driver/VariantCompiler.h"

#include "dialect/model/Attributes.h"
#include "passes/Pipeline.h"
#include "passes/choose/Planner.h"
#include "passes/driver/CompileRecipe.h"
#include "passes/driver/Diagnostics.h"
#include "passes/driver/Verify.h"
#include "passes/model/Common.h"
#include "runtime/base/Text.h"
#include "runtime/plan/Profile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <charconv>

namespace sluice {
namespace {

Result<std::int64_t> readExtent(const VariantSetting &setting) {
  std::int64_t value = 0;
  const char *end = setting.value.data() + setting.value.size();
  if (const auto [rest, error] = std::from_chars(setting.value.data(), end, value);
      error != std::errc() || rest != end || value < 1 || value > mostExtent)
    return inputError("--what-if " + setting.key + ": expected an integer from 1 to " + std::to_string(mostExtent) +
                      " but got '" + setting.value + "'");
  return value;
}

} // namespace

std::int64_t VariantCompiler::extent(std::string_view key) const {
  auto value = module->getAttrOfType<mlir::IntegerAttr>(key == "batch" ? model::batchName : model::sequenceName);
  return value ? value.getInt() : 0;
}

Status VariantCompiler::findImport(const std::string &key) {
  auto config = module->getAttrOfType<mlir::StringAttr>(model::configName);
  constexpr const char *remedy = "import the model with each value, and compile each file";
  if (!config)
    return inputError("--what-if " + key + ": the model is not from a config.json").withNote(remedy);
  const Digest given = sourceDigest(module);
  ImportOptions candidate;
  candidate.batch = extent("batch");
  candidate.sequence = extent("sequence");
  candidate.trainOnly = !module.lookupSymbol("logits");
  candidate.packed = hasInput(module, PortRole::documents);
  // The module does not state these two options of sluice-import.
  for (const std::optional<double> dropout : {std::optional<double>(), std::optional<double>(0)})
    for (const bool allowLonger : {false, true}) {
      candidate.dropout = dropout;
      candidate.allowLonger = allowLonger;
      Result<ImportedModel> imported =
          importHuggingFaceText(module->getContext(), config.getValue(), options.input, candidate);
      if (imported.isOk() && sourceDigest(imported->module.get()) == given) {
        import = candidate;
        return Status::ok();
      }
    }
  return inputError("--what-if " + key + ": the model is not the one that sluice-import creates from its config.json")
      .withNote(remedy);
}

Result<mlir::OwningOpRef<mlir::ModuleOp>> VariantCompiler::moduleOf(const Variant &variant) {
  std::int64_t batch = extent("batch"), sequence = extent("sequence");
  for (const VariantSetting &setting : variant) {
    if (!isModelExtent(setting.key))
      continue;
    SLUICE_ASSIGN_OR_RETURN((setting.key == "batch" ? batch : sequence), readExtent(setting));
    if (!import)
      SLUICE_RETURN_IF_ERROR(findImport(setting.key));
  }
  if (batch == extent("batch") && sequence == extent("sequence"))
    return mlir::OwningOpRef<mlir::ModuleOp>(module.clone());
  ImportOptions changed = *import;
  changed.batch = batch;
  changed.sequence = sequence;
  SLUICE_ASSIGN_OR_RETURN(ImportedModel imported,
                          importHuggingFaceText(module->getContext(),
                                                module->getAttrOfType<mlir::StringAttr>(model::configName).getValue(),
                                                options.input, changed));
  return std::move(imported.module);
}

/// The options of sluice-compile with which it would compile the variant.
static CompileOptions optionsOf(const CompileOptions &options, const Variant &variant) {
  CompileOptions changed = options;
  for (const VariantSetting &setting : variant)
    if (!isModelExtent(setting.key))
      changed.variant.push_back(setting.key + "=" + setting.value);
  return changed;
}

Result<bool> VariantCompiler::isLimited(const Variant &variant) {
  if (machine && machine->device != "cpu" && machine->figure("memory_bytes"))
    return true;
  mlir::OwningOpRef<mlir::ModuleOp> copy(module.clone());
  SLUICE_ASSIGN_OR_RETURN(const Recipe recipe, mergeRecipe(copy.get(), optionsOf(options, variant)));
  return recipe.memory.budget.has_value();
}

Result<CompiledPlan> VariantCompiler::emit(const Variant &variant) {
  SLUICE_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> model, moduleOf(variant));
  if (compiledTo(module).empty())
    recordSourceDigest(model.get());
  FirstError error(module->getContext());
  if (Result<Recipe> recipe = mergeRecipe(model.get(), optionsOf(options, variant)); !recipe.isOk())
    return recipe.takeStatus();
  Result<std::optional<PlanChoice>> choice = makeChoices(model.get(), machine);
  if (choice.isOk() && *choice)
    return std::move((*choice)->plan);
  Result<CompiledPlan> plan =
      choice.isOk() ? compilePlan(model.get(), /*isQuiet=*/true) : Result<CompiledPlan>(choice.takeStatus());
  if (!plan.isOk() && !error.text.empty())
    return Status(plan.status().code(), error.text);
  return plan;
}

Status VariantCompiler::measure(const CompiledPlan &compiled, CompiledVariant &result) const {
  const plan::PlanT &plan = compiled.file.plan;
  result.peak = static_cast<std::uint64_t>(compiled.deviceBytes);
  const PeakPlace peak = findPeak(plan, plan::Space::device);
  const BytesByClass byClass = liveAt(plan, peak.entry, peak.instruction, plan::Space::device).byClass;
  const auto largest = std::ranges::max_element(byClass);
  result.largestClass = plan::EnumNameBufferClass(plan::BufferClass(largest - byClass.begin()));
  result.largestClassBytes = *largest;
  if (machine) {
    const int entry = std::max(0, findEntry(plan, "train_step"));
    SLUICE_ASSIGN_OR_RETURN(const PredictedStep step, predictStep(plan, *machine, static_cast<std::uint32_t>(entry)));
    if (step.isComplete)
      result.seconds = step.seconds;
  }
  if (!compiled.overBudget.empty())
    return {StatusCode::budget, compiled.overBudget};
  return machine ? checkDeviceMemory(plan, *machine) : Status::ok();
}

CompiledVariant VariantCompiler::compile(const Variant &variant) {
  CompiledVariant result;
  result.variant = variant;
  Result<CompiledPlan> compiled = emit(variant);
  result.status = compiled.status();
  if (result.status.isOk())
    result.status = checkEmitted(compiled->bytes, compiledTo(module).empty() ? "" : options.input);
  if (result.status.isOk())
    result.status = measure(*compiled, result);
  if (result.status.isOk())
    result.plan = std::move(compiled->bytes);
  return result;
}

} // namespace sluice
