//===- LocalTypes.h - from whole tensors to shards through ops -----------------------------===//
#ifndef SLUICE_PASSES_SHARDING_LOCALTYPES_H
#define SLUICE_PASSES_SHARDING_LOCALTYPES_H

#include "passes/sharding/Placement.h"

namespace sluice {

/// Gives ops the types of shards, as their sharding rules say: take the rules while all types are whole, put shards in
/// the place of operands, then retype the ops in program order.
class LocalTypes {
public:
  explicit LocalTypes(spmd::MeshOp mesh) : mesh(mesh) {}

  /// Remembers the op's rule; ops without one must not get shards.
  void remember(mlir::Operation *op);

  /// Types the op's results by its operands. Where a split factor is reduced, a reshard to replicated completes the
  /// partial result, and readers get its value.
  mlir::LogicalResult retype(mlir::Operation *op);

private:
  mlir::LogicalResult complete(mlir::Operation *op, PartialReduction reduction, mlir::ArrayAttr axes,
                               llvm::ArrayRef<unsigned> wholeOperands);

  spmd::MeshOp mesh;
  llvm::DenseMap<mlir::Operation *, ShardingRule> rules;
};

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_LOCALTYPES_H
