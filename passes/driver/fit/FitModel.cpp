//===- FitModel.cpp - the model whose settings are compared -------------------------------------===//
#include "passes/driver/fit/FitModel.h"

#include "dialect/model/Attributes.h"
#include "passes/driver/ModelFile.h"
#include "passes/import/HuggingFace.h"
#include "passes/import/export/Import.h"
#include "runtime/base/Text.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

namespace sluice {
namespace {

using Module = mlir::OwningOpRef<mlir::ModuleOp>;

std::int64_t integerOf(mlir::ModuleOp module, llvm::StringRef name) {
  auto value = module->getAttrOfType<mlir::IntegerAttr>(name);
  return value ? value.getInt() : 0;
}

Result<Module> parseModel(mlir::MLIRContext *context, const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<llvm::MemoryBuffer> file, readModelFile(path));
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  Module module = mlir::parseSourceFile<mlir::ModuleOp>(sources, context);
  if (!module)
    return inputError(path + ": the model does not parse");
  return module;
}

} // namespace

std::int64_t rowsOf(mlir::ModuleOp module) { return integerOf(module, model::batchName); }
std::int64_t sequenceOf(mlir::ModuleOp module) { return integerOf(module, model::sequenceName); }

std::uint64_t parametersOf(mlir::ModuleOp module) {
  std::uint64_t elements = 0;
  for (auto parameter : module.getOps<model::ParameterOp>())
    elements += static_cast<std::uint64_t>(mlir::cast<mlir::ShapedType>(parameter.getType()).getNumElements());
  return elements;
}

Result<Module> FitModel::read(mlir::MLIRContext *context, std::int64_t rows) const {
  if (!isArchive())
    return parseModel(context, path);
  exported::ExportOptions options;
  options.trainOnly = true;
  options.symbols.insert(sizes.begin(), sizes.end());
  if (rows != 0)
    options.batch = rows;
  SLUICE_ASSIGN_OR_RETURN(exported::ImportedArchive imported, exported::importArchive(context, path, options));
  return std::move(imported.module);
}

Result<std::optional<std::int64_t>> FitModel::fixedRows(mlir::MLIRContext *context) {
  if (isConfig())
    return std::optional<std::int64_t>();
  if (isArchive() && read(context, 1).isOk())
    return std::optional<std::int64_t>();
  isStatic = true;
  SLUICE_ASSIGN_OR_RETURN(const Module module, read(context, 0));
  return std::optional(rowsOf(*module));
}

Result<Module> FitModel::build(mlir::MLIRContext *context, std::int64_t rows) const {
  if (isConfig()) {
    ImportOptions options;
    options.batch = std::max<std::int64_t>(rows, 1);
    options.sequence = sequence;
    options.trainOnly = true;
    SLUICE_ASSIGN_OR_RETURN(ImportedModel imported, importHuggingFace(context, path, options));
    return std::move(imported.module);
  }
  SLUICE_ASSIGN_OR_RETURN(Module module, read(context, isStatic ? 0 : rows));
  if (sequence != 0 && sequence != sequenceOf(*module))
    return inputError(
               concat(path, ": --sequence ", sequence, ", but the model has ", sequenceOf(*module), " tokens a row"))
        .withNote(isArchive() ? "export the module with that many tokens, or give the size of a dynamic dim by --size"
                              : "import the model with that many tokens, or give its config.json");
  return module;
}

} // namespace sluice
