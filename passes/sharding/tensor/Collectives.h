//===- Collectives.h - reshards along a model-parallel axis as collectives -----------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_COLLECTIVES_H
#define SLUICE_PASSES_SHARDING_TENSOR_COLLECTIVES_H

#include "dialect/spmd/Spmd.h"
#include "passes/sharding/tensor/AxisSharding.h"

namespace sluice::tensor {

/// Replaces the value of a reshard by collectives: all_reduce or reduce_scatter of a partial value, all_gather of a
/// sharded one, all_slice of a replicated one. Types are local, and the reshard has no use after that. `ranksOf` gives
/// the number of ranks along an axis.
void lowerReshard(spmd::ReshardOp reshard, llvm::function_ref<std::int64_t(llvm::StringRef)> ranksOf);

/// The rank's shard, of local type, with zeros in its padding. `global`: the unsharded type. The ops that it creates
/// have the tags of `like`.
mlir::Value clearPadding(mlir::OpBuilder &builder, mlir::Value value, mlir::RankedTensorType global,
                         const AxisSharding &sharding, const Axis &axis, mlir::Operation *like);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_COLLECTIVES_H
