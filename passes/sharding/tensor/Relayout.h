//===- Relayout.h - values brought from one layout into another ---------------------------===//
//
// How each value of an entry function lies, and what changes that: completing partial values, gathering split ones, cutting
// or making parts of whole ones, zeros in padding. Which of it an op needs is told by its rule (Propagate.cpp); here stands
// what is then put in, and once for all ops that want the same.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_RELAYOUT_H
#define SLUICE_PASSES_SHARDING_TENSOR_RELAYOUT_H

#include "passes/sharding/tensor/Propagate.h"

#include "llvm/ADT/SetVector.h"

namespace sluice::tensor {

/// An op and its sharding rule, or how many operands it has, for remarks.
std::string ruleText(mlir::Operation *op);

/// Tells the kernel where its part of a factor lies, and how much of it there is: `spmd.places`, the valid extent of each
/// operand and result. In the update the padding of parts is zeros, and stays so. Of what ranks make alike, it says that it
/// is parts all the same.
void setPlaces(mlir::Operation *op, const ShardingRule &rule, const FactorSplit &split, bool isMade,
               const Axis &axis);

/// False where places cannot be told, since another axis has said where the parts lie.
bool canPlace(mlir::Operation *op, const ShardingRule &rule, const FactorSplit &split, bool isMade, const Axis &axis);

class Relayout {
public:
  Relayout(mlir::func::FuncOp function, const Wishes &wishes, Reasons &reasons);

  const Layout &of(mlir::Value value) const {
    auto found = layouts.find(value);
    return found == layouts.end() ? whole : found->second;
  }
  void set(mlir::Value value, Layout layout, llvm::StringRef parameter);

  /// An op that is through: its operands have been taken as they lay.
  void close(mlir::Operation *op) { visited.insert(op); }
  void open(mlir::Operation *op) { visited.erase(op); }
  bool isClosed(mlir::Operation *op) const { return visited.contains(op); }

  /// Completes a partial value right behind its maker, for all readers that are still to come.
  mlir::Value complete(mlir::Value partial);
  /// Brings the operand to a layout that every rank has whole; `why` an op whose rule asks for it.
  void makeWhole(mlir::OpOperand &use, mlir::Operation *why, llvm::StringRef text);
  void makeSplit(mlir::OpOperand &use, const Layout &layout);
  /// Zeros in the padding of a split operand: behind what makes it, or ahead of what reads it, where that is a parameter
  /// that may be released in between.
  void clearPadding(mlir::OpOperand &use, mlir::RankedTensorType whole, const Layout &layout, bool whereRead);
  /// Each rank takes its part of the rows of every input; all of them are there for what needs them.
  void cutInputs(mlir::func::FuncOp function);
  /// Types become those of one rank, and what was made again leaves.
  void finish();

private:
  /// The dim of the value that can lie in parts from here on, as its readers can do with a part of it.
  std::optional<std::int64_t> dimOfTokens(mlir::Value partial) const;
  void noteCut(mlir::Value part, mlir::Value all);
  /// What has to be gathered for a value of rows; and whether that is less than the value itself, which is then made again.
  std::int64_t leastElements(mlir::Value value, unsigned ops) const;
  bool isLessThanMade(mlir::Value value) const;
  Layout partOfTokens(mlir::RankedTensorType whole, std::int64_t dim) const;
  /// The value again, made in parts by the ops that make it, where they can; null where they cannot.
  mlir::Value remake(mlir::Value value, const Layout &layout);
  /// The rank's part of a value that it has whole, for an op.
  mlir::Value cut(mlir::Operation *user, mlir::Value value, const Layout &layout);
  /// Ops made here stand where `like` does and are final.
  void settle(llvm::ArrayRef<mlir::Operation *> made, mlir::Operation *like);

  mlir::Block &block;
  const Wishes &wishes;
  Axis axis;
  Reasons &reasons;
  const Layout whole;
  /// Where values have the rows of inputs, if each rank takes its part of them.
  llvm::DenseMap<mlir::Value, std::int64_t> rows;
  llvm::DenseMap<mlir::Value, Layout> layouts;
  /// What has been gathered; parts of the sequence a second time for the backward, so as not to be kept.
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, mlir::Value> gathered;
  llvm::DenseSet<mlir::Operation *> visited;
  /// Values that parts of rows or of the sequence begin with.
  llvm::DenseSet<mlir::Value> roots;
  /// Made here, with types that are final.
  llvm::DenseSet<mlir::Operation *> settled;
  llvm::SetVector<mlir::Operation *> replaced;
};

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_RELAYOUT_H
