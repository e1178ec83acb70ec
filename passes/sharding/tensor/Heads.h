//===- Heads.h - chunks contain full heads, or several ranks share one ----------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_HEADS_H
#define SLUICE_PASSES_SHARDING_TENSOR_HEADS_H

#include "passes/sharding/tensor/AxisOptions.h"

namespace sluice::tensor {

/// The number of rows of the parameter's sharded dim of which the chunk must be a multiple: those of a head, where an
/// op that reads the parameter, or computes the other operand of its product, has heads in the dim; those of all query
/// heads that share a head of keys and values, where the ranks do not divide heads. 1 without heads, and where the
/// ranks share heads: then every rank gathers all of them.
std::int64_t chunkMultipleOf(mlir::Value parameter, const AxisSharding &sharding, std::int64_t ranks);

/// An error where a parameter's sharding has chunks that contain parts of heads and no later op has a factor that is
/// shared between heads, which the ranks divide: all ranks would do the same work.
mlir::LogicalResult verifySharedHeads(mlir::OpOperand &use, const ShardingRule &rule, const AxisOptions &options);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_HEADS_H
