//===- Api.cpp - the functions of sluice_compiler.h --------------------------------------------===//
#include "passes/Pipeline.h"
#include "passes/capi/sluice_compiler.h"
#include "passes/driver/CompileModel.h"
#include "passes/driver/Diagnostics.h"
#include "passes/driver/ImportModel.h"
#include "passes/driver/ModelFile.h"
#include "passes/driver/WhatIf.h"
#include "passes/driver/fit/FitSearch.h"
#include "passes/import/WriteOutput.h"
#include "passes/solver/simulate/StepReport.h"
#include "runtime/base/JsonOptions.h"
#include "runtime/base/Text.h"
#include "runtime/capi/Call.h"
#include "runtime/plan/Checker.h"

#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::capi;

struct sluice_compiler_status : StatusHandle {
  using StatusHandle::StatusHandle;
};
struct sluice_model {
  std::string path;
  std::unique_ptr<mlir::MLIRContext> context;
  ImportedModule imported;
};

namespace {

template <typename Function> sluice_compiler_status *guard(Function &&function) {
  return call<sluice_compiler_status>(std::forward<Function>(function));
}

CompileOptions optionsOf(const sluice_model &model, const char *recipe, const char *machine) {
  CompileOptions options;
  options.input = model.path;
  options.recipeText = textOf(recipe);
  options.machine = textOf(machine);
  return options;
}

Json textsOf(const std::vector<DiagnosticList::Entry> &entries) {
  Json list = Json::array();
  for (const DiagnosticList::Entry &entry : entries)
    list.push_back(entry.text);
  return list;
}

/// "key=value,value" as --what-if takes it.
Result<std::vector<std::string>> variantTexts(const Json &variants) {
  if (!variants.is_object() && !variants.is_null())
    return Status(StatusCode::usage,
                  "what-if options: 'what_if', expected an object with a list of values for each key");
  std::vector<std::string> texts;
  for (auto each = variants.begin(); variants.is_object() && each != variants.end(); ++each) {
    if (!each->is_array() || each->empty())
      return Status(StatusCode::usage, "what-if options: '" + each.key() + "', expected a list of values");
    std::string text = each.key() + "=";
    for (const Json &value : *each)
      text += (text.ends_with('=') ? "" : ",") + dumpJson(value);
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<std::string> compareJson(const sluice_model &model, const char *recipe, std::string_view text) {
  CompileOptions compile = optionsOf(model, recipe, nullptr);
  JsonOptions options(text, "what-if options");
  const Json variants = options.take("what_if");
  options.read("pareto", compile.pareto);
  options.readChoice("fit", compile.fit, {"batch", "sequence"});
  options.read("machine", compile.machine);
  SLUICE_RETURN_IF_ERROR(options.finish());
  SLUICE_ASSIGN_OR_RETURN(compile.whatIf, variantTexts(variants));
  if (!compile.comparesVariants())
    return Status(StatusCode::usage, "what-if options: expected 'what_if', 'pareto' or 'fit'");
  if (compile.pareto && (compile.machine.empty() || !compile.fit.empty()))
    return Status(StatusCode::usage, "what-if options: 'pareto' requires 'machine', and excludes 'fit'");
  mlir::ModuleOp module = *const_cast<mlir::OwningOpRef<mlir::ModuleOp> &>(model.imported.module);
  const DiagnosticList diagnostics(model.context.get());
  SLUICE_ASSIGN_OR_RETURN(const VariantReport report, compareVariants(compile, module));
  return dumpJson(report.toJson(), 2) + "\n";
}

Result<FitRequest> fitRequest(std::string_view text) {
  FitRequest request;
  std::string framework = "sluice";
  std::optional<std::int64_t> world, sequence;
  JsonOptions options(text, "fit options");
  options.read("model", request.model);
  options.read("gpus", request.gpus);
  options.read("world", world, 1);
  options.read("sequence", sequence, 1);
  options.read("batch", request.batches);
  options.read("size", request.sizes, 1);
  options.readChoice("for", framework, {"sluice", "pytorch"});
  options.read("recompute", request.recompute);
  options.read("offload", request.offload);
  options.read("precision", request.precision);
  options.read("set", request.settings);
  options.read("assert", request.assertions);
  options.read("machines", request.machines);
  SLUICE_RETURN_IF_ERROR(options.finish());
  for (const auto &[name, value] : {std::pair("model", &request.model), {"gpus", &request.gpus}})
    if (value->empty())
      return Status(StatusCode::usage, concat("fit options: '", name, "' is missing"));
  for (const std::int64_t rows : request.batches)
    if (rows < 1)
      return Status(StatusCode::usage, concat("fit options: 'batch', expected integers above 0 but got ", rows));
  request.world = world.value_or(0);
  request.sequence = sequence.value_or(0);
  request.framework = framework == "pytorch" ? FitFramework::pytorch : FitFramework::sluice;
  return request;
}

} // namespace

int sluice_compiler_api_version(void) { return SLUICE_COMPILER_API_VERSION; }
const char *sluice_compiler_version(void) { return SLUICE_VERSION; }

int sluice_compiler_status_code(const sluice_compiler_status *status) {
  return status ? static_cast<int>(status->status.code()) : 0;
}
const char *sluice_compiler_status_message(const sluice_compiler_status *status) {
  return status ? status->status.message().c_str() : "";
}
size_t sluice_compiler_status_note_count(const sluice_compiler_status *status) {
  return status ? status->status.notes().size() : 0;
}
const char *sluice_compiler_status_note(const sluice_compiler_status *status, size_t index) {
  return index < sluice_compiler_status_note_count(status) ? status->status.notes()[index].c_str() : nullptr;
}
void sluice_compiler_status_free(sluice_compiler_status *status) { freeStatus(status); }
void sluice_compiler_text_free(char *text) { std::free(text); }
void sluice_compiler_bytes_free(void *bytes) { std::free(bytes); }

sluice_compiler_status *sluice_model_import(const char *kind, const char *path, const char *options,
                                            sluice_model **model) {
  return guard([&]() -> Status {
    SLUICE_RETURN_IF_ERROR(checkArguments({{kind, "kind"}, {path, "path"}, {model, "model"}}));
    auto imported = std::make_unique<sluice_model>();
    imported->path = path;
    imported->context = createContext();
    SLUICE_ASSIGN_OR_RETURN(imported->imported, importModel(*imported->context, kind, path, textOf(options)));
    *model = imported.release();
    return Status::ok();
  });
}

void sluice_model_free(sluice_model *model) { delete model; }

sluice_compiler_status *sluice_model_text(const sluice_model *model, char **text) {
  return guard([&]() -> Status {
    SLUICE_RETURN_IF_ERROR(checkArgument(model, "model"));
    SLUICE_RETURN_IF_ERROR(checkArgument(text, "text"));
    return copyText(printModule(*const_cast<mlir::OwningOpRef<mlir::ModuleOp> &>(model->imported.module)), text);
  });
}

sluice_compiler_status *sluice_model_report(const sluice_model *model, char **json) {
  return guard([&]() -> Status {
    SLUICE_RETURN_IF_ERROR(checkArgument(model, "model"));
    SLUICE_RETURN_IF_ERROR(checkArgument(json, "json"));
    Json report = model->imported.report.empty() ? Json::object() : parseJson<Json>(model->imported.report);
    report["warnings"] = model->imported.warnings;
    return copyText(dumpJson(report, 2) + "\n", json);
  });
}

sluice_compiler_status *sluice_compile(const sluice_model *model, const char *recipe, const char *machine, void **bytes,
                                       size_t *size, char **json) {
  return guard([&]() -> Status {
    SLUICE_RETURN_IF_ERROR(checkArguments({{model, "model"}, {bytes, "bytes"}, {size, "size"}}));
    const DiagnosticList diagnostics(model->context.get());
    // The phases change the module.
    const mlir::OwningOpRef<mlir::ModuleOp> module(
        const_cast<mlir::OwningOpRef<mlir::ModuleOp> &>(model->imported.module)->clone());
    Compilation compilation = compileModel(optionsOf(*model, recipe, machine), module.get());
    if (!compilation.status.isOk())
      return diagnostics.explain(std::move(compilation.status), compilation.isEmitted);
    SLUICE_RETURN_IF_ERROR(checkEmitted(compilation.plan, compilation.isDump ? model->path : ""));
    const auto plan = compilation.plan.span();
    // Without memory, no output is set.
    std::unique_ptr<void, decltype(&std::free)> copy(std::malloc(plan.size()), &std::free);
    if (!copy)
      throw std::bad_alloc();
    std::memcpy(copy.get(), plan.data(), plan.size());
    if (json) {
      const Json decisions = compilation.decisions.empty() ? Json() : parseJson<Json>(compilation.decisions);
      const Json report = {{"warnings", textsOf(diagnostics.warnings)},
                           {"remarks", textsOf(diagnostics.remarks)},
                           {"decisions", decisions}};
      SLUICE_RETURN_IF_ERROR(copyText(dumpJson(report, 2) + "\n", json));
    }
    *bytes = copy.release();
    *size = plan.size();
    return Status::ok();
  });
}

sluice_compiler_status *sluice_what_if(const sluice_model *model, const char *recipe, const char *options,
                                       char **json) {
  return guard([&]() -> Status {
    SLUICE_RETURN_IF_ERROR(checkArgument(model, "model"));
    SLUICE_RETURN_IF_ERROR(checkArgument(json, "json"));
    SLUICE_ASSIGN_OR_RETURN(const std::string text, compareJson(*model, recipe, textOf(options)));
    return copyText(text, json);
  });
}

sluice_compiler_status *sluice_simulate(const void *plan, size_t size, const char *machine, const char *entry,
                                        char **json) {
  return guard([&]() -> Status {
    SLUICE_RETURN_IF_ERROR(checkArguments({{plan, "plan"}, {machine, "machine"}, {json, "json"}}));
    SLUICE_ASSIGN_OR_RETURN(const PlanFile file, parsePlan({static_cast<const std::uint8_t *>(plan), size}, "plan"));
    SLUICE_RETURN_IF_ERROR(checkPlan(file.plan));
    SLUICE_ASSIGN_OR_RETURN(const Machine read, readMachine(machine));
    SLUICE_ASSIGN_OR_RETURN(const std::uint32_t index, entryIndex(file.plan, entry ? entry : "train_step"));
    SLUICE_ASSIGN_OR_RETURN(const PredictedStep step, predictStep(file.plan, read, index));
    return copyText(dumpJson(stepJson(file.plan, read, step), 2) + "\n", json);
  });
}

sluice_compiler_status *sluice_fit(const char *options, char **json) {
  return guard([&]() -> Status {
    SLUICE_RETURN_IF_ERROR(checkArguments({{options, "options"}, {json, "json"}}));
    SLUICE_ASSIGN_OR_RETURN(const FitRequest request, fitRequest(options));
    SLUICE_ASSIGN_OR_RETURN(const FitResult result, findFit(request));
    SLUICE_RETURN_IF_ERROR(result.status());
    return copyText(dumpJson(result.toJson(), 2) + "\n", json);
  });
}
