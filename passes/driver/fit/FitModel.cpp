//===- FitModel.cpp - the model whose settings are compared -------------------------------------===//
#include "passes/driver/fit/FitModel.h"

#include "dialect/model/Attributes.h"
#include "passes/driver/ImportModel.h"
#include "passes/import/export/Archive.h"
#include "passes/import/export/BindSymbols.h"
#include "runtime/base/Text.h"

#include <nlohmann/json.hpp>

namespace sluice {
namespace {

using Module = mlir::OwningOpRef<mlir::ModuleOp>;

std::int64_t integerOf(mlir::ModuleOp module, llvm::StringRef name) {
  auto value = module->getAttrOfType<mlir::IntegerAttr>(name);
  return value ? value.getInt() : 0;
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
  Json options = Json::object();
  if (isConfig() || isArchive())
    options["train_only"] = true;
  if (isConfig())
    options["sequence"] = sequence;
  if (isArchive())
    options["set"] = sizes;
  if (rows != 0 && (isConfig() || isArchive()))
    options["batch"] = rows;
  SLUICE_ASSIGN_OR_RETURN(ImportedModule imported, importModel(*context,
                                                               isConfig()    ? "hf"
                                                               : isArchive() ? "export"
                                                                             : "mlir",
                                                               path, dumpJson(options)));
  return std::move(imported.module);
}

Result<RowRange> FitModel::readRows(mlir::MLIRContext *context) {
  if (isConfig())
    return RowRange{};
  if (isArchive()) {
    SLUICE_ASSIGN_OR_RETURN(const Pt2Archive archive, Pt2Archive::open(path, StatusCode::input));
    SLUICE_ASSIGN_OR_RETURN(const nlohmann::json program, exported::readProgramJson(archive));
    if (const std::optional<exported::SizeRange> range =
            exported::rowRangeOf(program, exported::SymbolValues(sizes.begin(), sizes.end())))
      return RowRange{std::max<std::int64_t>(range->least, 1), range->most, false};
  }
  isStatic = true;
  SLUICE_ASSIGN_OR_RETURN(const Module module, read(context, 0));
  return RowRange{rowsOf(*module), rowsOf(*module), true};
}

Result<Module> FitModel::build(mlir::MLIRContext *context, std::int64_t rows) const {
  if (isConfig())
    return read(context, std::max<std::int64_t>(rows, 1));
  SLUICE_ASSIGN_OR_RETURN(Module module, read(context, isStatic ? 0 : rows));
  if (sequence != 0 && sequence != sequenceOf(*module))
    return inputError(
               concat(path, ": --sequence ", sequence, ", but the model has ", sequenceOf(*module), " tokens a row"))
        .withNote(isArchive() ? "export the module with that many tokens, or give the size of a dynamic dim by --size"
                              : "import the model with that many tokens, or give its config.json");
  return module;
}

} // namespace sluice
