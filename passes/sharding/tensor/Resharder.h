//===- Resharder.h - operands in the shardings that their ops take them in ------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_RESHARDER_H
#define SLUICE_PASSES_SHARDING_TENSOR_RESHARDER_H

#include "dialect/spmd/Spmd.h"
#include "passes/sharding/tensor/AxisOptions.h"

#include "llvm/ADT/SetVector.h"

namespace sluice::tensor {

/// Inserts the reshards of one entry, one for all readers that take the same.
class Resharder {
public:
  Resharder(mlir::func::FuncOp function, const Axis &axis, CollectiveRemarks &remarks);

  /// Replicates the operand; `text`, for remarks, says why its op takes it replicated.
  void replicate(mlir::OpOperand &use, llvm::StringRef text) { replicate(use, use.getOwner(), text); }
  /// Brings the operand to a sharding: replicates it if it has another, then each rank slices or computes its part.
  void shard(mlir::OpOperand &use, const AxisSharding &sharding);
  /// Erases ops that are computed in parts instead.
  void eraseReplaced();

private:
  AxisSharding of(mlir::Value value) const { return shardingOf(value, axis.name); }
  void replicate(mlir::OpOperand &use, mlir::Operation *reader, llvm::StringRef text);
  /// The fewest elements to gather for a value of rows: its own, or those of the values that it is computed from.
  std::int64_t leastElements(mlir::Value value, unsigned ops) const;
  /// True where the inputs of the op of a value have fewer elements to gather than the value.
  bool isCheaperToGatherInputs(mlir::Value value) const;
  /// The value computed in parts by a copy of its op, where any part can be computed by itself; else null.
  mlir::Value computeInParts(mlir::Value value, const AxisSharding &sharding);
  /// The rank's part of a replicated value, directly before its reader: a parameter may be released in between.
  mlir::Value slice(mlir::Operation *reader, mlir::Value value, const AxisSharding &sharding);
  void noteSlice(mlir::Value part, mlir::Value replicated);

  mlir::Block &block;
  const Axis &axis;
  CollectiveRemarks &remarks;
  /// By value, its replicated form; rows and the sequence are gathered again for the backward, so as not to be kept.
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, mlir::Value> gathered;
  /// Copies of ops on replicated values, that are not computed in parts.
  llvm::DenseSet<mlir::Operation *> copies;
  llvm::SetVector<mlir::Operation *> replaced;
};

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_RESHARDER_H
