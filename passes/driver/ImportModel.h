//===- ImportModel.h - a model by its kind and path --------------------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_IMPORTMODEL_H
#define SLUICE_PASSES_DRIVER_IMPORTMODEL_H

#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct ImportedModule {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::string> warnings;
  /// What became of an archive, as JSON; empty for other kinds.
  std::string report;
};

/// Imports a model. `kind` is "mlir" (text or bytecode), "hf" (config.json, or its folder), "export" (an archive of
/// torch.export), "zoo" (a name), or "auto": by the suffix of the path. `options` is a JSON object with the members of
/// the command's options, such as "batch" and "sequence". No diagnostic is printed: the first error is the status.
Result<ImportedModule> importModel(mlir::MLIRContext &context, std::string_view kind, const std::string &path,
                                   std::string_view options);

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_IMPORTMODEL_H
