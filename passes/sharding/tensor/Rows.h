//===- Rows.h - which dim of each value is of the inputs' rows ------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_ROWS_H
#define SLUICE_PASSES_SHARDING_TENSOR_ROWS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <cstdint>

namespace sluice::tensor {

/// The inputs of an entry that have rows, a micro-batch's: all but scalars, which have as many as the first of them.
llvm::SmallVector<mlir::BlockArgument> inputsOfRows(mlir::func::FuncOp function);

/// The dim of each value whose outermost factor is the rows of inputs, as the ops' sharding rules lead there. What is
/// computed of all rows, as a gradient of a parameter, has none.
llvm::DenseMap<mlir::Value, std::int64_t> findRows(mlir::func::FuncOp function);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_ROWS_H
