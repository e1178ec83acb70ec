//===- Spmd.h - the spmd dialect ------------------------------------------------------===//
#ifndef SLUICE_DIALECT_SPMD_SPMD_H
#define SLUICE_DIALECT_SPMD_SPMD_H

#include "dialect/rules/Roles.h"
#include "dialect/rules/Rules.h"
#include "dialect/rules/ShardingRule.h"
#include "dialect/rules/When.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace sluice::spmd {

/// True for reductions of all_reduce, and of those for the ones of reduce_scatter.
inline bool isReduction(ReductionKind kind) { return kind != ReductionKind::none; }
inline bool isSumOrMean(ReductionKind kind) { return isReduction(kind) && kind != ReductionKind::max; }

/// An axis along which each rank holds a partial result, and how these are combined.
struct PartialAxis {
  mlir::StringAttr axis;
  PartialReduction reduction = PartialReduction::none;
  bool operator==(const PartialAxis &) const = default;
};
inline llvm::hash_code hash_value(const PartialAxis &partial) {
  return llvm::hash_combine(partial.axis, partial.reduction);
}

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

/// The yielded value of a section's result; any other value itself.
mlir::Value yieldedValue(mlir::Value value);

/// False for chunks along dim 0, which are consecutive rows of the tensor that they are chunks of.
bool areChunksSeparate(mlir::RankedTensorType chunk);

} // namespace sluice::spmd

#include "dialect/spmd/CollectiveOpInterface.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/spmd/SpmdAttrs.h.inc"

#include "dialect/spmd/SpmdDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/spmd/SpmdTypes.h.inc"
#define GET_OP_CLASSES
#include "dialect/spmd/SpmdOps.h.inc"

#endif // SLUICE_DIALECT_SPMD_SPMD_H
