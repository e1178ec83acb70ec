//===- Rows.h - the dim of each value that has the rows of inputs ---------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_ROWS_H
#define SLUICE_PASSES_SHARDING_TENSOR_ROWS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <cstdint>

namespace sluice::tensor {

/// The inputs of an entry that have the rows of a micro-batch: those that are no scalars, with the same dim 0 as the
/// first of them.
llvm::SmallVector<mlir::BlockArgument> inputsOfRows(mlir::func::FuncOp function);

/// The dim of each value whose outermost factor is the rows of inputs, by the sharding rules of ops. A value that is
/// summed over rows, such as the gradient of a parameter, has none.
llvm::DenseMap<mlir::Value, std::int64_t> findRows(mlir::func::FuncOp function);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_ROWS_H
