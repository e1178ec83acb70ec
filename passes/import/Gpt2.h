//===- Gpt2.h - the GPT-2 family from its config.json ---------------------------------===//
//
// A config is read in full before anything is built: every field that changes the mathematics is supported or
// refused by name. Parameters are named as the checkpoint names them, without `transformer.`.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_GPT2_H
#define SLUICE_PASSES_IMPORT_GPT2_H

#include "passes/import/HuggingFace.h"

#include "llvm/Support/JSON.h"

namespace sluice {

struct Gpt2Config {
  std::int64_t vocabulary = 0, positions = 0, width = 0, layers = 0, heads = 0, inner = 0;
  double epsilon = 1e-5, initializerRange = 0.02;
  /// `tanh` and `none` are forms of gelu, `relu` is relu.
  std::string activation = "tanh";
  /// Dropout rates: of the embeddings, the attention probabilities, the additions to the residual path.
  double embeddingDropout = 0, attentionDropout = 0, residualDropout = 0;
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

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_GPT2_H
