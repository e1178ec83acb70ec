//===- Utils.h - functions that several passes of the stage use ----------------------------===//
#ifndef SLUICE_PASSES_SHARDING_UTILS_H
#define SLUICE_PASSES_SHARDING_UTILS_H

#include "dialect/spmd/Spmd.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {

/// The functions that are entry points and have a body.
llvm::SmallVector<mlir::func::FuncOp> entriesOf(mlir::ModuleOp module);

/// Copies phase, block, invocation, recompute mark and repetitions to an op that is created for another.
void copyTags(mlir::Operation *from, mlir::Operation *to);
/// Sets the value number `ids[index]`; nothing for null.
void setId(mlir::Operation *op, mlir::DenseI64ArrayAttr ids, std::size_t index);

/// One location for an op over several values, which keeps the location of each.
mlir::Location fuseLocations(mlir::MLIRContext *context, llvm::ArrayRef<mlir::Location> ofValues);
/// The location of each of the op's `count` values if fuseLocations() created the op's location; else the op's
/// location.
llvm::SmallVector<mlir::Location> locationsOfValues(mlir::Operation *op, std::size_t count);

/// The value of which a value is a view, directly or by other views; the value itself if it is none.
mlir::Value sourceOfViews(mlir::Value value);

/// Moves the ops of recompute regions to the block, in the backward.
void inlineRecompute(mlir::Block &block);

/// Moves the replicated operands of an op that combines its operands to a copy of the op, which it returns; null for an
/// op without such operands.
mlir::Operation *separateReplicatedTerms(mlir::OpBuilder &builder, mlir::Operation *op,
                                         llvm::function_ref<bool(mlir::Value)> isSharded);

/// Creates an all_reduce and its wait, with the tags of `like`.
spmd::WaitOp allReduce(mlir::OpBuilder &builder, mlir::Operation *like, mlir::ValueRange values, mlir::ArrayAttr axes,
                       ReductionKind kind);

/// Erases the casts among the ops of the values that nothing reads.
void eraseUnusedCasts(mlir::ValueRange values);
/// Removes the value from all releases: it is not gathered.
void eraseFromReleases(mlir::Value value);

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_UTILS_H
