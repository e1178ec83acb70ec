//===- SplitModule.h - a module as one rank of an axis computes it --------------------------===//
//
// What the passes of all axes of parts share: entries are propagated, parameters become parts, and remarks tell what
// crosses ranks.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_SPLITMODULE_H
#define SLUICE_PASSES_SHARDING_TENSOR_SPLITMODULE_H

#include "passes/sharding/tensor/Propagate.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice::tensor {

/// The functions that are entry points.
llvm::SmallVector<mlir::func::FuncOp> entriesOf(mlir::ModuleOp module);

/// Rewrites an entry to what one rank computes; regions of recompute are inlined.
llvm::LogicalResult splitEntry(mlir::func::FuncOp entry, const Wishes &wishes, Reasons &reasons);

/// Parameters become one rank's part; `spmd.tensor` says of what.
void splitParameters(mlir::ModuleOp module, const ParameterSplits &splits, llvm::StringRef axis);

/// True where parameters have been split along the axis before.
bool isSplitAlong(mlir::ModuleOp module, llvm::StringRef axis);

/// One remark for each reason.
void remark(const Reasons &reasons);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_SPLITMODULE_H
