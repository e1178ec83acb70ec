//===- Import.h - from the text of StableHLO to a model -------------------------------------===//
//
// The training program of a function of JAX, as sluice.jax.export writes it: StableHLO in MLIR's generic form, which
// needs no dialect of StableHLO. JAX and Python are not needed.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_STABLEHLO_IMPORT_H
#define SLUICE_PASSES_IMPORT_STABLEHLO_IMPORT_H

#include "passes/import/export/Import.h"

namespace sluice::stablehlo {

struct TextOptions {
  /// A JSON file with the names of parameters and inputs, for a text without them; empty: none.
  std::string parameters;
  /// Accepts a text that the Python helper did not write. Its gradients are those of the ops in the text.
  bool gradientsAsWritten = false;
  /// Those of archives that apply: `loss`, `tokens`, `trainOnly`, `blocks`, `dropout`.
  exported::ExportOptions model;
};

struct ImportedText {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  exported::ExportReport report;
};

/// A page with the ops that are imported, as Markdown.
std::string supportedOps();

/// `context` gets the model; the text is parsed in a separate one.
Result<ImportedText> importText(mlir::MLIRContext *context, const std::string &path, const TextOptions &options);

} // namespace sluice::stablehlo

#endif // SLUICE_PASSES_IMPORT_STABLEHLO_IMPORT_H
