//===- FactorChoice.h - the factor along which an op is sharded -----------------------------===//
//
// The sharding of each operand maps to a factor of the op's sharding rule, and an op is sharded along one factor at
// most. The order of priority: shardings of parameters before those of rows and of the sequence, then the order of
// operands. A function of the IR alone: propagation acts on it, and the remarks on collectives explain it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_FACTORCHOICE_H
#define SLUICE_PASSES_SHARDING_TENSOR_FACTORCHOICE_H

#include "passes/sharding/tensor/AxisOptions.h"

namespace sluice::tensor {

/// Why an op requires a sharded operand replicated.
enum class ReplicationReason : std::uint8_t {
  /// The sharding maps to no factor of the rule, or to one that must not be sharded.
  unshardable,
  /// The chunks are padded inside of a dim.
  indivisible,
  /// The chunks contain parts of heads, each of which then serves several ranks.
  sharedHeads,
  /// The op is sharded along another factor: one of a parameter, or, for rows and the sequence, any.
  otherDim,
  tokens,
  /// The op sums over rows or the sequence for the gradient of a sharded parameter.
  shardedGradient
};
/// For remarks: continues the name of the op.
llvm::StringRef textOf(ReplicationReason reason, AxisRole axis);

struct FactorChoice {
  /// Nothing where the op requires all operands replicated.
  std::optional<FactorSharding> factor;
  /// 1 for rows or the sequence.
  std::int64_t priority = 0;
  /// Sharded operands that the op requires replicated.
  llvm::SmallVector<std::pair<mlir::OpOperand *, ReplicationReason>> replicated;
};

/// The factor of the first operand with a sharding of priority 0, else of the first with one of priority 1.
FactorChoice chooseFactor(mlir::Operation *op, const ShardingRule &rule, const AxisOptions &options);

/// True where the op cannot be sharded along any factor of its operands' shardings, since the factor must not be
/// sharded or its chunks are unaligned: its shardable form may be.
bool requiresShardableForm(mlir::Operation *op, const ShardingRule &rule, const Axis &axis);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_FACTORCHOICE_H
