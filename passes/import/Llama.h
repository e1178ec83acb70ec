//===- Llama.h - Llama and similar families ----------------------------------------------===//
//
// Llama, Mistral, Qwen2 and Qwen3: blocks of root-mean-square norms, attention with rotary positions and fewer heads of
// keys and values, and a gated MLP. They differ in biases, norms of q and k, windows and the size of a head.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_LLAMA_H
#define SLUICE_PASSES_IMPORT_LLAMA_H

#include "passes/import/HuggingFace.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/JSON.h"

namespace sluice {

/// As model.rope's attributes.
struct RopeConfig {
  double theta = 10000;
  std::string scaling = "default";
  double factor = 1, low = 1, high = 1, original = 1;
};

struct LlamaConfig {
  std::int64_t vocabulary = 0, width = 0, layers = 0, heads = 0, keyHeads = 0, headSize = 0, inner = 0;
  double epsilon = 1e-6, initializerRange = 0.02, attentionDropout = 0;
  /// `silu`, `tanh` or `none` (forms of gelu), or `relu`.
  std::string activation = "silu";
  RopeConfig rope;
  /// The padding row of the embedding: initially zeros, without gradient.
  std::optional<std::int64_t> padding;
  bool tied = false, queryBias = false, outputBias = false, mlpBias = false, headNorms = false;
  /// For each layer the attention window; 0: all previous tokens.
  llvm::SmallVector<std::int64_t> windows;
};

/// True for the model types that readLlamaConfig takes.
bool isLlamaFamily(llvm::StringRef modelType);

/// `file` is named in messages.
Result<LlamaConfig> readLlamaConfig(llvm::StringRef modelType, const llvm::json::Object &object,
                                    const std::string &file, const ImportOptions &options);

Result<mlir::OwningOpRef<mlir::ModuleOp>> buildLlama(mlir::MLIRContext *context, const LlamaConfig &config,
                                                     const ImportOptions &options, llvm::StringRef name,
                                                     llvm::StringRef configText);

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_LLAMA_H
