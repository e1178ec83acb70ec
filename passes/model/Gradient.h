//===- Gradient.h - reverse mode over a list of flat ops ------------------------------------===//
//
// The one algorithm of model-differentiate and model-differentiate-function. It knows which values depend on the leaves,
// walks the ops in reverse, asks each for its derivative, and adds up cotangents in the order in which they are made.
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
  /// Everything is built by `builder` at its insertion point.
  explicit ReverseMode(mlir::OpBuilder &builder) : builder(builder) {}

  /// A value whose cotangent is asked for.
  void addLeaf(mlir::Value leaf) {
    active.insert(leaf);
    leaves.insert(leaf);
  }
  /// Where the cotangent of a leaf goes as it comes, in place of being added up here.
  std::function<void(mlir::Value leaf, mlir::Value cotangent)> takeLeaf;
  /// Called after an op's derivative is built (or was found to be zero).
  std::function<void(mlir::Operation *op)> afterOp;

  /// Marks what depends on the leaves among `ops`, in program order.
  void markActive(llvm::ArrayRef<mlir::Operation *> ops);
  bool isActive(mlir::Value value) const { return active.contains(value); }

  /// Adds to the cotangent of a value.
  void accumulate(mlir::Value value, mlir::Value cotangent);
  /// The derivative of all `ops`, last first.
  llvm::LogicalResult run(llvm::ArrayRef<mlir::Operation *> ops);
  /// The cotangent so far; null: zero.
  mlir::Value cotangent(mlir::Value value) const { return cotangents.lookup(value); }

private:
  mlir::OpBuilder &builder;
  llvm::DenseSet<mlir::Value> active, leaves;
  llvm::DenseMap<mlir::Value, mlir::Value> cotangents;
};

/// Erases those of `made` that nothing uses, last first; a gradient that is handed over is used.
void eraseDead(llvm::SmallVectorImpl<mlir::Operation *> &made);

} // namespace sluice

#endif // SLUICE_PASSES_MODEL_GRADIENT_H
