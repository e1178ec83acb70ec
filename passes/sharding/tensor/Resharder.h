//===- Resharder.h - operands in the shardings that their ops require ----------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_RESHARDER_H
#define SLUICE_PASSES_SHARDING_TENSOR_RESHARDER_H

#include "dialect/spmd/Spmd.h"
#include "passes/sharding/tensor/AxisOptions.h"

#include "llvm/ADT/SetVector.h"

namespace sluice::tensor {

/// Inserts the reshards of one entry, one for all readers of a value that require the same sharding.
class Resharder {
public:
  Resharder(mlir::func::FuncOp function, const Axis &axis, CollectiveRemarks &remarks);

  /// Replicates the operand; `text` continues the name of the op, for remarks.
  void replicate(mlir::OpOperand &use, llvm::StringRef text) { replicate(use, use.getOwner(), text); }
  /// Reshards the operand: replicates it if it has another sharding, then each rank slices or computes its shard.
  void shard(mlir::OpOperand &use, const AxisSharding &sharding);
  /// Erases the ops that are replaced by ops that compute shards.
  void eraseReplaced();

private:
  AxisSharding of(mlir::Value value) const { return shardingOf(value, axis.name); }
  void replicate(mlir::OpOperand &use, mlir::Operation *reader, llvm::StringRef text);
  /// The fewest elements to gather for a value of rows: the value itself, or the values that it is computed from.
  std::int64_t leastElements(mlir::Value value, unsigned depth) const;
  /// True where the inputs of the op of a value have fewer elements to gather than the value.
  bool isCheaperToGatherInputs(mlir::Value value) const;
  /// The shard of a replicated value, computed by a copy of its op; null where the op must compute all of it.
  mlir::Value computeShard(mlir::Value value, const AxisSharding &sharding);
  /// The shard of a replicated value, directly before its reader: a parameter may be released in between.
  mlir::Value slice(mlir::Operation *reader, mlir::Value value, const AxisSharding &sharding);
  void noteSlice(mlir::Value shard, mlir::Value replicated);

  mlir::Block &block;
  const Axis &axis;
  CollectiveRemarks &remarks;
  /// The replicated form of a value. Rows and the sequence are gathered again for the backward (1), since the gathered
  /// value would occupy memory until then.
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, mlir::Value> gathered;
  /// Copies of ops on replicated values, which are not computed as shards.
  llvm::DenseSet<mlir::Operation *> copies;
  llvm::SetVector<mlir::Operation *> replaced;
};

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_RESHARDER_H
