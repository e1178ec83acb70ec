//===- Gradient.h - reverse mode over a list of flat ops ------------------------------------===//
//
// Reverse mode, for model-differentiate and model-differentiate-function. The class marks the values that depend on the
// leaves, walks the ops in reverse, builds the derivative of each, and adds up cotangents in the order of their
// creation.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_MODEL_GRADIENT_H
#define SLUICE_PASSES_MODEL_GRADIENT_H

#include "passes/model/Common.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <functional>

namespace sluice {

class ReverseMode {
public:
  /// Ops are built by `builder` at its insertion point.
  explicit ReverseMode(mlir::OpBuilder &builder) : builder(builder) {}

  /// Adds a value whose cotangent is needed.
  void addLeaf(mlir::Value leaf) {
    active.insert(leaf);
    leaves.insert(leaf);
  }
  /// Receives each cotangent of a leaf, from the derivative of `op`; it is then not added up here.
  std::function<void(mlir::Operation *op, mlir::Value leaf, mlir::Value cotangent)> takeLeaf;
  /// Called after an op's derivative is built (or was found to be zero).
  std::function<void(mlir::Operation *op)> afterOp;

  /// Marks the results of `ops`, in program order, that depend on the leaves.
  void markActive(llvm::ArrayRef<mlir::Operation *> ops);
  bool isActive(mlir::Value value) const { return active.contains(value); }

  /// Adds to the cotangent of a value.
  void accumulate(mlir::Value value, mlir::Value cotangent);
  /// The derivative of all `ops`, last first.
  llvm::LogicalResult run(llvm::ArrayRef<mlir::Operation *> ops);
  /// Begins a new run: all cotangents are zero.
  void clear() { cotangents.clear(); }
  /// The cotangent so far; null: zero.
  mlir::Value cotangent(mlir::Value value) const { return cotangents.lookup(value); }

private:
  mlir::OpBuilder &builder;
  llvm::DenseSet<mlir::Value> active, leaves;
  llvm::DenseMap<mlir::Value, mlir::Value> cotangents;
};

/// Erases the unused ops of `ops`, last first; an op with side effects is used.
void eraseDead(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace sluice

#endif // SLUICE_PASSES_MODEL_GRADIENT_H
