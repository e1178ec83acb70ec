//===- Collectives.h - reshards as collectives --------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_COLLECTIVES_H
#define SLUICE_PASSES_SHARDING_TENSOR_COLLECTIVES_H

#include "dialect/spmd/Spmd.h"
#include "passes/sharding/tensor/AxisSharding.h"

#include "mlir/IR/Builders.h"

namespace sluice::tensor {

/// Copies phase, block, pass and recompute marks to an op that is created for another.
void copyTags(mlir::Operation *from, mlir::Operation *to);

/// Replaces the value of a reshard by collectives: all_reduce or reduce_scatter of a partial value, all_gather of a
/// sharded one, all_slice of a replicated one. Types are local, and the reshard has no use after that. `ranksOf`: the
/// ranks of an axis.
void lowerReshard(spmd::ReshardOp reshard, llvm::function_ref<std::int64_t(llvm::StringRef)> ranksOf);

/// The rank's part of a sharded value, of local type, with zeros for the rows that ranks with smaller parts lack.
/// `global`: the type on all ranks together. Appends the ops that it creates to `made`.
mlir::Value padded(mlir::OpBuilder &builder, mlir::Value value, mlir::RankedTensorType global,
                   const AxisSharding &sharding, const Axis &axis, llvm::SmallVectorImpl<mlir::Operation *> &made);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_COLLECTIVES_H
