//===- HuggingFace.h - from a config.json to a model -------------------------------------===//
//
// A config is read in full before anything is built: every field that changes the mathematics is either understood or
// refused by name. Parameters are named as the checkpoint names them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_HUGGINGFACE_H
#define SLUICE_PASSES_IMPORT_HUGGINGFACE_H

#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sluice {

/// What the user chooses beside the config.
struct ImportOptions {
  /// Rows of one rank's micro-batch.
  std::int64_t batch = 1;
  /// Tokens a row.
  std::int64_t sequence = 1;
  /// Takes the place of all the config's dropouts.
  std::optional<double> dropout;
  /// Without the entry point that gives logits, which are the largest of what a plan with a chunked loss holds.
  bool trainOnly = false;
};

/// Reads a config.json and builds the model of its family.
Result<mlir::OwningOpRef<mlir::ModuleOp>> importHuggingFace(mlir::MLIRContext *context, const std::string &file,
                                                            const ImportOptions &options);

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_HUGGINGFACE_H
