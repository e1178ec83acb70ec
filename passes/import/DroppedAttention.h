//===- DroppedAttention.h - attention in whose midst something is dropped ------------------===//
#ifndef SLUICE_PASSES_IMPORT_DROPPEDATTENTION_H
#define SLUICE_PASSES_IMPORT_DROPPEDATTENTION_H

#include "dialect/model/Model.h"

namespace sluice {

/// How a query sees keys: all, those up to its own place, of these the last `window` (0: all).
struct AttentionMask {
  bool causal = true;
  std::int64_t window = 0;
};

/// Attention of q [B, T, H, D] to k and v [B, S, G, D] by its parts; `drop` is given the probabilities. model.attention is
/// one op and has no place for it.
mlir::Value buildDroppedAttention(mlir::OpBuilder &builder, mlir::Location location, mlir::Value q, mlir::Value k,
                                  mlir::Value v, double scale, AttentionMask mask,
                                  llvm::function_ref<mlir::Value(mlir::Value)> drop);

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_DROPPEDATTENTION_H
