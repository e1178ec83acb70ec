//===- Decoder.h - the decoder of all model families --------------------------------------===//
//
// Blocks of attention and an MLP on a residual path. A family is data: the names of its modules, where its blocks have
// norms, and choices. Parameters are named as the checkpoint names them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_DECODER_H
#define SLUICE_PASSES_IMPORT_DECODER_H

#include "passes/import/HuggingFace.h"
#include "passes/import/Rope.h"

#include <map>

namespace sluice {

/// Modules by their names in the checkpoint, those of a block without its name. "": the family has no such module.
struct DecoderNames {
  llvm::StringRef embedding = "model.embed_tokens", positions = "", layers = "model.layers", norm = "model.norm";
  llvm::StringRef head = "lm_head", headAlias = "", projectIn = "", projectOut = "";

  /// Norms of a sublayer's input, of its output, and of its sum with the residual path.
  llvm::StringRef beforeAttention = "input_layernorm", afterAttention = "", afterAttentionSum = "";
  llvm::StringRef beforeMlp = "post_attention_layernorm", afterMlp = "", afterMlpSum = "";

  llvm::StringRef attention = "self_attn";
  /// In the attention: one projection to queries, keys and values, or three.
  llvm::StringRef fused = "", query = "q_proj", key = "k_proj", value = "v_proj", output = "o_proj";
  llvm::StringRef queryNorm = "q_norm", keyNorm = "k_norm";

  /// In the MLP: `gate` and `up`, or both as `gateUp`, or `up` without a gate.
  llvm::StringRef mlp = "mlp.", gate = "gate_proj", up = "up_proj", gateUp = "", down = "down_proj";
  llvm::StringRef activation = "act_fn";
};

enum class NormKind { layer, rms, rmsOfOnePlusWeight };

/// Norms of queries and keys: of each head by one weight, of all heads together, of each head by its own weight.
enum class HeadNorm { none, eachHead, allHeads, ownWeights };

/// Rows of a fused projection: all queries, all keys, all values; or for each head its query, key and value.
enum class FusedRows { byPart, byHead };

struct DecoderConfig {
  DecoderNames names;
  std::int64_t vocabulary = 0, width = 0, layers = 0, heads = 0, keyHeads = 0, headSize = 0, inner = 0;
  /// The width of the embedding, which `projectIn` and `projectOut` change if it is not `width`.
  std::int64_t wordWidth = 0;
  /// Rows of the table of learned positions, and the row of the first token.
  std::int64_t positions = 0, firstPosition = 0;

  NormKind norm = NormKind::rms;
  double epsilon = 1e-6, initializerRange = 0.02;
  /// Layer norms have weights and biases.
  bool affineNorms = true;
  HeadNorm headNorm = HeadNorm::none;
  FusedRows fusedRows = FusedRows::byPart;

  /// `silu`, `tanh` or `none` (forms of gelu), or `relu`.
  std::string activation = "silu";
  bool queryBias = false, outputBias = false, mlpBias = false;
  /// Projections are stored as [in, out].
  bool transposedProjections = false;
  /// Initial projections onto the residual path are scaled by the number of additions to it.
  bool scalesResidualInit = false;
  /// Attention and MLP of a block have the same input.
  bool parallelResidual = false;

  RopeConfig rope;
  /// For each layer the factor of the attention scores and the attention window (0: all previous tokens).
  llvm::SmallVector<double> attentionScales;
  llvm::SmallVector<std::int64_t> windows;
  /// Factors of the embedding, the branches added to the residual path, and the logits; 1: none.
  double embeddingScale = 1, residualScale = 1, logitScale = 1;
  /// `cap tanh(x / cap)` of attention scores and logits; 0: none.
  double attentionCap = 0, logitCap = 0;

  double embeddingDropout = 0, attentionDropout = 0, attentionOutputDropout = 0, mlpOutputDropout = 0;
  /// The padding row of the embedding: initially zeros, without gradient.
  std::optional<std::int64_t> padding;
  bool tied = false;
};

/// By the length of a row, on which rotary positions may depend.
using DecoderConfigs = std::map<std::int64_t, DecoderConfig>;

/// The entry points of GraphBuilder.h; `configs` has the length of each. `configText` is kept in `model.config`.
Result<mlir::OwningOpRef<mlir::ModuleOp>> buildDecoder(mlir::MLIRContext *context, const DecoderConfigs &configs,
                                                       const ImportOptions &options, llvm::StringRef name,
                                                       llvm::StringRef configText);

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_DECODER_H
