//===- SavedTensors.h - what PyTorch saves for an op that was imported ---------------------===//
//
// The import from PyTorch replaces several ops by one. PyTorch runs the ops as they are, and keeps tensors for the
// backward that no value of the model is. `model.saved` on the op has their bytes: two numbers for each tensor, with
// f32 compute and with 16-bit compute. Only the account of PyTorch's memory reads them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_MODEL_SAVEDTENSORS_H
#define SLUICE_DIALECT_MODEL_SAVEDTENSORS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace sluice::model {

inline constexpr llvm::StringLiteral savedName = "model.saved";

/// Adds the tensors of the list to those of the op.
void addSaved(mlir::Operation *op, llvm::ArrayRef<std::int64_t> bytes);

/// Gives an op the discardable attributes of the last of the ops that it replaces, and the saved tensors of them all.
void setFusedAttributes(mlir::Operation *fused, llvm::ArrayRef<mlir::Operation *> replaced);

} // namespace sluice::model

#endif // SLUICE_DIALECT_MODEL_SAVEDTENSORS_H
