//===- SplitChoice.h - the split that an op is computed in ----------------------------------===//
//
// Operands that lie in parts each ask for a split, by a factor of the op's sharding rule; an op is computed in one at
// most. Here it is chosen, and who gives way to it. Nothing is changed: Propagate.cpp carries it out.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_SPLITCHOICE_H
#define SLUICE_PASSES_SHARDING_TENSOR_SPLITCHOICE_H

#include "passes/sharding/tensor/Relayout.h"

namespace sluice::tensor {

struct SplitChoice {
  /// Nothing where the op takes whole operands.
  std::optional<FactorSplit> split;
  /// The parameter that it began with.
  llvm::StringRef parameter;
  /// It is of rows or of the sequence.
  bool ofTokens = false;
  /// Operands that are to be whole, and why.
  llvm::SmallVector<std::pair<mlir::OpOperand *, llvm::StringRef>> whole;
};

/// The split that the first operand with a parameter's asks for, else the first of rows or of the sequence. An error where
/// that of a parameter would make all ranks do the same work.
mlir::FailureOr<SplitChoice> chooseSplit(mlir::Operation *op, const ShardingRule &rule, const Relayout &values,
                                         const Wishes &wishes);

/// True where the op can take no split as its operands lie, since a factor must be whole or cannot be cut as the ranks
/// are: it may have a form that can.
bool isStuck(mlir::Operation *op, const ShardingRule &rule, const Relayout &values, std::int64_t ranks);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_SPLITCHOICE_H
