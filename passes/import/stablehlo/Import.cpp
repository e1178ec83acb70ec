//===- Import.cpp - from the text of StableHLO to a model -----------------------------------===//

#include "passes/import/stablehlo/Import.h"

#include "passes/import/export/EntryImport.h"
#include "passes/import/export/Modules.h"
#include "passes/import/stablehlo/Reader.h"
#include "passes/import/stablehlo/Translation.h"

#include "dialect/model/Attributes.h"
#include "runtime/base/File.h"
#include "runtime/base/Json.h"
#include "runtime/base/JsonDepth.h"
#include "runtime/base/Text.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Path.h"

#include <nlohmann/json.hpp>

using namespace mlir;
using namespace sluice;
using namespace sluice::stablehlo;

static Result<ArgumentNames> readNames(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, readFile(path));
  const auto failed = [&](const std::string &why) { return inputError(concat(path, ": ", why)); };
  const nlohmann::json value = nestsTooDeep(text) ? nlohmann::json() : parseJson<nlohmann::json>(text);
  ArgumentNames names;
  for (auto [key, list] : {std::pair("parameters", &names.parameters), std::pair("inputs", &names.inputs)}) {
    const auto found = value.is_object() ? value.find(key) : value.end();
    if (found == value.end() || !found->is_array() ||
        llvm::any_of(*found, [](const nlohmann::json &each) { return !each.is_string(); }))
      return failed("expected a JSON object with 'parameters' and 'inputs', two lists of names");
    for (const nlohmann::json &each : *found)
      list->push_back(each.get<std::string>());
  }
  return names;
}

/// Whether brackets outside of strings and comments nest deeper than those of a text of JAX. The parser of MLIR calls
/// itself for each.
static bool bracketsNestTooDeep(llvm::StringRef text) {
  constexpr std::int64_t most = 256;
  std::int64_t depth = 0;
  bool isString = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (isString) {
      if (c == '\\')
        ++i;
      else
        isString = c != '"';
    } else if (c == '"') {
      isString = true;
    } else if (text.substr(i).starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (llvm::StringRef("([{<").contains(c)) {
      if (++depth > most)
        return true;
    } else if (llvm::StringRef(")]}").contains(c) || (c == '>' && i > 0 && text[i - 1] != '-')) {
      --depth;
    }
  }
  return false;
}

static Result<OwningOpRef<ModuleOp>> parse(MLIRContext &context, const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, readFile(path));
  if (bracketsNestTooDeep(text))
    return inputError(concat(path, ": brackets nest deeper than 256"));
  context.loadDialect<func::FuncDialect>();
  context.allowUnregisteredDialects();
  context.printOpOnDiagnostic(false);
  Status status = Status::ok();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    std::int64_t line = 0;
    if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
      line = place.getLine();
    if (status.isOk())
      status = inputError(concat(path, ":", line, ": ", printable(diagnostic.str())));
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context, path);
  if (module)
    return module;
  return std::move(status).withNote("the text is StableHLO in MLIR's generic form, as sluice.jax.export writes it");
}

Result<ImportedText> stablehlo::importText(MLIRContext *context, const std::string &path, const TextOptions &options) {
  context->loadDialect<func::FuncDialect, model::ModelDialect>();
  MLIRContext parsing(MLIRContext::Threading::DISABLED);
  SLUICE_ASSIGN_OR_RETURN(OwningOpRef<ModuleOp> text, parse(parsing, path));
  const bool isMarked = text->getOperation()->hasAttr(writtenBy);
  if (!isMarked && !options.gradientsAsWritten)
    return inputError(concat(path, ": the text is not of sluice.jax.export, so its gradients may be wrong: StableHLO "
                                   "has no stop_gradient, custom_jvp and custom_vjp, and random numbers without keys"))
        .withNote("export with sluice.jax.export(loss, params, *inputs, path=...)")
        .withNote("--gradients-as-written imports it, with the gradients of the ops in the text");
  std::optional<ArgumentNames> names;
  if (!options.parameters.empty()) {
    SLUICE_ASSIGN_OR_RETURN(names, readNames(options.parameters));
  }
  SLUICE_ASSIGN_OR_RETURN(const exported::Program program, readModule(text.get(), names ? &*names : nullptr, path));

  ImportedText imported;
  imported.module = ModuleOp::create(UnknownLoc::get(context));
  ModuleOp module = imported.module.get();
  Builder builder(context);
  module->setAttr(model::nameName, builder.getStringAttr(llvm::sys::path::stem(path)));
  exported::Parameters parameters(module);
  std::optional<std::int64_t> rows;
  exported::EntryImport training(module, parameters, program, options.model, EntryKind::train);
  SLUICE_RETURN_IF_ERROR(training.run(!options.model.trainOnly, rows, imported.report));
  module->setAttr(model::batchName, builder.getI64IntegerAttr(rows.value_or(1)));
  for (const std::string &name : parameters.removeUnused())
    imported.report.warnings.push_back(
        concat("parameter '", printable(name), "' is not used by the loss: it is left out"));
  const exported::Modules modules(program.graph, options.model.blocks);
  for (const std::string &glob : modules.unmatched)
    imported.report.warnings.push_back(concat("--blocks ", printable(glob), " matches no module"));
  for (func::FuncOp entry : llvm::to_vector(module.getOps<func::FuncOp>()))
    enclose(entry, modules, /*checkpoints=*/{});
  if (failed(verify(module)))
    return internalError("imported model that does not verify");
  training.warn(imported.report);
  imported.report.describe(module);
  return imported;
}

std::string stablehlo::supportedOps() {
  std::string page = "# Ops of StableHLO\n\nGenerated by tools/generate-docs.sh from the tables in "
                     "passes/import/stablehlo.\n\nThis page lists the ops that `sluice-import stablehlo` reads "
                     "([your own JAX function](../jax.md)). `while` of a known number of steps, `if` and `case` of a "
                     "known branch, calls and `optimization_barrier` are read too.\n\n| family | ops |\n|---|---|\n";
  for (const Family &family : families()) {
    page += concat("| ", family.name.str(), " |");
    for (auto [index, entry] : llvm::enumerate(family.ops))
      page += concat(index == 0 ? " `" : ", `", entry.name.str(), "`");
    page += " |\n";
  }
  return page;
}
