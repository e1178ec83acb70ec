//===- DroppedAttention.h - attention with dropout, as separate ops ------------------------===//
#ifndef SLUICE_PASSES_IMPORT_DROPPEDATTENTION_H
#define SLUICE_PASSES_IMPORT_DROPPEDATTENTION_H

#include "dialect/model/Model.h"

namespace sluice {

/// The mask of attention: none, causal, or causal with the last `window` keys (0: all).
struct AttentionMask {
  bool causal = true;
  std::int64_t window = 0;
};

/// Attention of q [B, T, H, D] to k and v [B, S, G, D] as separate ops; `drop` is applied to the probabilities.
/// model.attention is one op without dropout.
mlir::Value buildDroppedAttention(mlir::OpBuilder &builder, mlir::Location location, mlir::Value q, mlir::Value k,
                                  mlir::Value v, double scale, AttentionMask mask,
                                  llvm::function_ref<mlir::Value(mlir::Value)> drop);

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_DROPPEDATTENTION_H
