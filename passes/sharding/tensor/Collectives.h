//===- Collectives.h - what crosses the ranks of an axis ----------------------------------===//
//
// Small builders of ops; each appends the ops that it makes to `made`.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_COLLECTIVES_H
#define SLUICE_PASSES_SHARDING_TENSOR_COLLECTIVES_H

#include "dialect/spmd/Spmd.h"
#include "passes/sharding/tensor/Layout.h"

#include "mlir/IR/Builders.h"

namespace sluice::tensor {

/// Phase, block, pass and such: an op that is made for another stands where it does.
void copyTags(mlir::Operation *from, mlir::Operation *to);

/// The whole of what each rank has a part of, by all_reduce.
mlir::Value completed(mlir::OpBuilder &builder, mlir::Value partial, PartialReduction reduction, const Axis &axis,
                      llvm::SmallVectorImpl<mlir::Operation *> &made);

/// The rank's chunk, along the dim of a split, of the sum of what each rank has a part of, by reduce_scatter; its type is
/// that of a shard.
mlir::Value scattered(mlir::OpBuilder &builder, mlir::Value partial, const Layout &layout, const Axis &axis,
                      llvm::SmallVectorImpl<mlir::Operation *> &made);

/// The whole of a split value (whose type is still that of the whole), by all_gather.
mlir::Value gatheredWhole(mlir::OpBuilder &builder, mlir::Value value, const Layout &layout, const Axis &axis,
                          llvm::SmallVectorImpl<mlir::Operation *> &made);

/// A split value as one rank holds it, with zeros for what ranks with smaller parts lack. `whole`: the type of the whole.
mlir::Value padded(mlir::OpBuilder &builder, mlir::Value value, mlir::RankedTensorType whole, const Layout &layout,
                   const Axis &axis, llvm::SmallVectorImpl<mlir::Operation *> &made);

/// Two terms that are reduced over the shard axes, one of them over an axis of parts as well, and then combined, are combined
/// first: the norm takes one all_reduce for each axis.
void joinReductions(mlir::Block &block);

/// Where a rank's part of a tensor lies: the valid extent of the split dim, `total` in the whole.
spmd::ShardingAttr placeOf(mlir::MLIRContext *context, const Layout &layout, std::int64_t rank, std::int64_t total,
                           const Axis &axis);

/// The rank's part of a value that it has whole.
mlir::Value cutOut(mlir::OpBuilder &builder, mlir::Value value, const Layout &layout, const Axis &axis,
                   llvm::SmallVectorImpl<mlir::Operation *> &made);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_COLLECTIVES_H
