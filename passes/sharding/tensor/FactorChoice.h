//===- FactorChoice.h - the factor that an op is split on -----------------------------------===//
//
// Each sharded operand maps to a factor of the op's sharding rule, and an op is split on one factor at most. The order
// of priority: shardings of parameters before those of rows and the sequence, then the order of operands. A function of
// the IR alone: propagation acts on it, and the remarks on collectives state it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_FACTORCHOICE_H
#define SLUICE_PASSES_SHARDING_TENSOR_FACTORCHOICE_H

#include "passes/sharding/tensor/AxisOptions.h"

namespace sluice::tensor {

/// Why an op takes a sharded operand replicated.
enum class ReplicationReason : std::uint8_t {
  /// The sharding splits no factor of the rule, or one that the op does not compute in parts.
  unshardable,
  /// The chunks are no windows of some tensor.
  indivisible,
  /// The chunks cut through heads, of which each then serves several ranks.
  sharedHeads,
  /// The op is split on another factor: along a dim of a parameter, or, for rows and the sequence, along any.
  otherDim,
  givesWay,
  /// The op sums over rows or the sequence for the gradient of a sharded parameter.
  shardedGradient
};
/// For remarks, which name the op next.
llvm::StringRef textOf(ReplicationReason reason, llvm::StringRef axis);

struct FactorChoice {
  /// Nothing where the op takes all operands replicated.
  std::optional<FactorSplit> split;
  /// 1 for rows or the sequence.
  std::int64_t priority = 0;
  /// Sharded operands that the op takes replicated, and why.
  llvm::SmallVector<std::pair<mlir::OpOperand *, ReplicationReason>> replicated;
};

/// The factor of the first operand with a sharding of priority 0, else of the first with one of priority 1.
FactorChoice chooseFactor(mlir::Operation *op, const ShardingRule &rule, const AxisOptions &options);

/// True where the op can be split on no factor of its operands' shardings, since a factor must be unsharded or cannot
/// be cut as the ranks are: it may have a form that can.
bool isStuck(mlir::Operation *op, const ShardingRule &rule, const Axis &axis);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_FACTORCHOICE_H
