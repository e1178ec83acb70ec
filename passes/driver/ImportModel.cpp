//===- ImportModel.cpp - a model by its kind and path -----------------------------------------===//
#include "passes/driver/ImportModel.h"

#include "passes/driver/Diagnostics.h"
#include "passes/driver/ModelFile.h"
#include "passes/import/HuggingFace.h"
#include "passes/import/export/InputOptions.h"
#include "passes/import/stablehlo/Import.h"
#include "passes/import/zoo/Zoo.h"
#include "runtime/base/JsonOptions.h"
#include "runtime/base/Text.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"

#include <array>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

constexpr std::int64_t mostOfExtent = std::int64_t(1) << 30;

/// Rows or tokens; an error where a given value is too large.
Status checkExtent(std::string_view name, std::optional<std::int64_t> value) {
  if (!value || *value <= mostOfExtent)
    return Status::ok();
  return {StatusCode::usage,
          concat("import options: '", name, "', expected at most ", mostOfExtent, " but got ", *value)};
}

Status checkDropout(const std::optional<double> &dropout) {
  if (!dropout || (*dropout >= 0 && *dropout < 1))
    return Status::ok();
  return {StatusCode::usage,
          "import options: 'dropout', expected a number from 0 to 1 (below 1) but got " + formatNumber(*dropout)};
}

Result<ImportedModule> importText(mlir::MLIRContext &context, const std::string &path, JsonOptions &options) {
  SLUICE_RETURN_IF_ERROR(options.finish());
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<llvm::MemoryBuffer> file, readModelFile(path));
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  ImportedModule imported;
  imported.module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!imported.module)
    return inputError(path + ": model that cannot be parsed");
  return imported;
}

Result<ImportedModule> importConfig(mlir::MLIRContext &context, const std::string &path, JsonOptions &options) {
  ImportOptions hf;
  std::optional<std::int64_t> batch, sequence;
  options.read("batch", batch, 1);
  options.read("sequence", sequence, 1);
  options.read("dropout", hf.dropout);
  options.read("allow_longer", hf.allowLonger);
  options.read("train_only", hf.trainOnly);
  options.read("packed", hf.packed);
  options.read("generation", hf.oneRowLogits);
  std::vector<std::string> shapes;
  std::string evaluation;
  options.read("shapes", shapes);
  options.read("eval_shape", evaluation);
  SLUICE_RETURN_IF_ERROR(options.finish());
  for (const auto &[name, value] : {std::pair("batch", &batch), std::pair("sequence", &sequence)})
    if (*value && !shapes.empty())
      return Status(StatusCode::usage,
                    concat("import options: '", name, "' cannot be combined with 'shapes', which state it"));
  SLUICE_RETURN_IF_ERROR(setShapes(hf, shapes, evaluation));
  if (!shapes.empty()) {
    batch = hf.batch;
    sequence = hf.sequence;
  }
  for (const auto &[name, value] : {std::pair("batch", batch), std::pair("sequence", sequence)}) {
    if (!value)
      return Status(StatusCode::usage, concat("import options: '", name, "' is missing"))
          .withNote("a config.json states neither the rows of a micro-batch nor the tokens of a row");
    SLUICE_RETURN_IF_ERROR(checkExtent(name, value));
  }
  SLUICE_RETURN_IF_ERROR(checkDropout(hf.dropout));
  hf.batch = *batch;
  hf.sequence = *sequence;
  const std::string file = llvm::sys::fs::is_directory(path) ? path + "/config.json" : path;
  SLUICE_ASSIGN_OR_RETURN(ImportedModel model, importHuggingFace(&context, file, hf));
  return ImportedModule{std::move(model.module), {}, {}};
}

Result<ImportedModule> importArchiveFile(mlir::MLIRContext &context, const std::string &path, JsonOptions &options) {
  exported::ExportOptions exported;
  std::map<std::string, std::int64_t> symbols;
  std::map<std::string, std::string> inputs;
  options.read("loss", exported.loss);
  options.read("batch", exported.batch, 1);
  std::vector<std::string> shapes;
  options.read("shapes", shapes);
  options.read("set", symbols, 1);
  options.read("inputs", inputs);
  options.read("add_output", exported.outputs);
  options.read("train_only", exported.trainOnly);
  options.read("blocks", exported.blocks);
  options.read("dropout", exported.dropout);
  options.read("allow_decomposed", exported.allowDecomposed);
  options.read("initialize", exported.initialize);
  SLUICE_RETURN_IF_ERROR(options.finish());
  SLUICE_RETURN_IF_ERROR(checkExtent("batch", exported.batch));
  SLUICE_ASSIGN_OR_RETURN(exported.shapes, readShapes("--shapes", shapes));
  if (exported.batch && !shapes.empty())
    return Status(StatusCode::usage, "import options: 'batch' cannot be combined with 'shapes', which state it");
  SLUICE_RETURN_IF_ERROR(checkDropout(exported.dropout));
  std::vector<std::string> inputTexts, symbolTexts;
  for (const auto &[name, kind] : inputs)
    inputTexts.push_back(concat(name, "=", kind));
  for (const auto &[name, size] : symbols)
    symbolTexts.push_back(name + "=" + std::to_string(size));
  SLUICE_RETURN_IF_ERROR(exported::readInputOptions(inputTexts, symbolTexts, exported));
  SLUICE_ASSIGN_OR_RETURN(exported::ImportedArchive archive, exported::importArchive(&context, path, exported));
  return ImportedModule{std::move(archive.module), std::move(archive.report.warnings),
                        llvm::formatv("{0:2}\n", archive.report.json()).str()};
}

Result<ImportedModule> importStableHlo(mlir::MLIRContext &context, const std::string &path, JsonOptions &options) {
  stablehlo::TextOptions text;
  options.read("parameters", text.parameters);
  options.read("gradients_as_written", text.gradientsAsWritten);
  options.read("blocks", text.model.blocks);
  SLUICE_RETURN_IF_ERROR(options.finish());
  SLUICE_ASSIGN_OR_RETURN(stablehlo::ImportedText imported, stablehlo::importText(&context, path, text));
  return ImportedModule{std::move(imported.module), std::move(imported.report.warnings),
                        llvm::formatv("{0:2}\n", imported.report.json()).str()};
}

Result<ImportedModule> importZooModel(mlir::MLIRContext &context, const std::string &name, JsonOptions &options) {
  std::vector<std::string> settings;
  std::vector<std::string> shapes;
  options.read("shapes", shapes);
  const Json set = options.take("set");
  SLUICE_RETURN_IF_ERROR(options.finish());
  SLUICE_ASSIGN_OR_RETURN(const std::vector<RowShape> read, readShapes("--shapes", shapes));
  for (auto each = set.begin(); set.is_object() && each != set.end(); ++each) {
    const auto *text = each->get_ptr<const Json::string_t *>();
    settings.push_back(each.key() + "=" + (text ? *text : dumpJson(*each)));
  }
  SLUICE_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module, importZoo(&context, name, settings, read));
  return ImportedModule{std::move(module), {}, {}};
}

struct ImportKind {
  std::string_view name;
  /// Of paths, or empty; without any the kind has to be named.
  std::array<std::string_view, 2> suffixes;
  Result<ImportedModule> (*import)(mlir::MLIRContext &context, const std::string &path, JsonOptions &options);
};

constexpr ImportKind kinds[] = {
    {"mlir", {".mlir", ".mlirbc"}, importText},
    {"hf", {".json"}, importConfig},
    {"export", {".pt2"}, importArchiveFile},
    {"stablehlo", {}, importStableHlo},
    {"zoo", {}, importZooModel},
};

Result<const ImportKind *> findKind(std::string_view kind, const std::string &path) {
  if (kind == "auto" && llvm::sys::fs::is_directory(path))
    kind = "hf";
  for (const ImportKind &each : kinds)
    if (each.name == kind || (kind == "auto" && llvm::any_of(each.suffixes, [&](std::string_view suffix) {
                                return !suffix.empty() && path.ends_with(suffix);
                              })))
      return &each;
  const std::string names = join(kinds, ", ", [](const ImportKind &each) { return each.name; });
  if (kind != "auto")
    return Status(StatusCode::usage, concat("kind of model '", kind, "', expected auto or one of ", names));
  return Status(StatusCode::usage, "'" + path + "': the suffix names no kind of model")
      .withNote("give the kind: one of " + names);
}

} // namespace

Result<ImportedModule> importModel(mlir::MLIRContext &context, std::string_view kind, const std::string &path,
                                   std::string_view text) {
  SLUICE_ASSIGN_OR_RETURN(const ImportKind *found, findKind(kind, path));
  JsonOptions options(text, "import options");
  const DiagnosticList diagnostics(&context);
  Result<ImportedModule> imported = found->import(context, path, options);
  if (!imported.isOk())
    return diagnostics.explain(imported.takeStatus());
  for (const DiagnosticList::Entry &warning : diagnostics.warnings)
    imported->warnings.push_back(warning.text);
  return imported;
}

} // namespace sluice
