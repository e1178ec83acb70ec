//===- Collectives.h - the interface of collectives and its defaults ----------------------===//
#ifndef SLUICE_DIALECT_SPMD_COLLECTIVES_H
#define SLUICE_DIALECT_SPMD_COLLECTIVES_H

#include "dialect/rules/Enums.h"
#include "dialect/rules/Rules.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

#include <optional>

namespace sluice::spmd {

/// A change of sharding by one collective: shards to unsharded tensors; partial results to unsharded tensors or to
/// shards; shards along one dim to shards along another.
enum class ReshardKind { unshard, reduce, reduce_to_shards, exchange };

class CollectiveOpInterface;

/// `tensor` for a group of ranks that have parts of one micro-batch, since compute waits for it at once and must not
/// queue after gathers and reductions of units; else `reduce` for a reduction and `gather` for others.
StreamKind defaultStream(CollectiveOpInterface op);
/// The default of getReshard: from the sides that consist of chunks, and the reduction.
std::optional<ReshardKind> defaultReshard(CollectiveOpInterface op);
/// The ranks of the group; 1 for a copy.
std::int64_t groupSizeOf(CollectiveOpInterface op);
/// The bytes that each rank sends in a ring, and the operations of the reduction.
OpCost ringCost(CollectiveOpInterface op);

/// False for chunks along dim 0, which are consecutive rows of the tensor that they are chunks of.
bool areChunksSeparate(mlir::RankedTensorType chunk);

} // namespace sluice::spmd

#include "dialect/spmd/CollectiveOpInterface.h.inc"

#endif // SLUICE_DIALECT_SPMD_COLLECTIVES_H
