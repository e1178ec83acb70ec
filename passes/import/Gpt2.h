//===- Gpt2.h - the GPT-2 family from its config.json ---------------------------------===//
//
// A config is read in full before anything is built: every field that changes the mathematics is either understood or
// refused by name. Parameters are named as the checkpoint names them, without `transformer.`.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_GPT2_H
#define SLUICE_PASSES_IMPORT_GPT2_H

#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/JSON.h"

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
};

struct Gpt2Config {
  std::int64_t vocabulary = 0, positions = 0, width = 0, layers = 0, heads = 0, inner = 0;
  double epsilon = 1e-5, initializerRange = 0.02;
  /// `tanh` and `none` are forms of gelu, `relu` is relu.
  std::string activation = "tanh";
  bool tied = true, scaleAttention = true, scaleByLayer = false;
};

/// `file` is named in messages.
Result<Gpt2Config> readGpt2Config(const llvm::json::Object &object, const std::string &file,
                                  const ImportOptions &options);

/// The entry points `train_step` (tokens, targets to loss) and `logits` (tokens to logits). `configText` is kept in
/// `model.config`.
Result<mlir::OwningOpRef<mlir::ModuleOp>> buildGpt2(mlir::MLIRContext *context, const Gpt2Config &config,
                                                    const ImportOptions &options, llvm::StringRef name,
                                                    llvm::StringRef configText);

/// Reads a config.json and builds the model of its family.
Result<mlir::OwningOpRef<mlir::ModuleOp>> importHuggingFace(mlir::MLIRContext *context, const std::string &file,
                                                            const ImportOptions &options);

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_GPT2_H
