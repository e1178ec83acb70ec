//===- Collectives.h - what crosses the ranks of the tensor axis --------------------------===//
//
// Small builders of ops; each appends the ops that it makes to `made`.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_COLLECTIVES_H
#define SLUICE_PASSES_SHARDING_TENSOR_COLLECTIVES_H

#include "passes/sharding/tensor/Layout.h"

#include "mlir/IR/Builders.h"

namespace sluice::tensor {

/// Phase, block, pass and such: an op that is made for another stands where it does.
void copyTags(mlir::Operation *from, mlir::Operation *to);

/// The whole of what each rank has a part of, by all_reduce.
mlir::Value completed(mlir::OpBuilder &builder, mlir::Value partial, PartialReduction reduction,
                      llvm::SmallVectorImpl<mlir::Operation *> &made);

/// The whole of a split value (whose type is still that of the whole), by all_gather.
mlir::Value gatheredWhole(mlir::OpBuilder &builder, mlir::Value value, const Layout &layout, std::int64_t ranks,
                          llvm::SmallVectorImpl<mlir::Operation *> &made);

/// Two terms that are reduced over the shard axes, one of them over tensor ranks as well, and then combined, are combined
/// first: the norm takes one all_reduce for each axis.
void joinReductions(mlir::Block &block);

/// The rank's part of a value that it has whole.
mlir::Value cutOut(mlir::OpBuilder &builder, mlir::Value value, const Layout &layout, std::int64_t ranks,
                   llvm::SmallVectorImpl<mlir::Operation *> &made);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_COLLECTIVES_H
