//===- Budget.h - more memory than allowed ------------------------------------------===//
//
// Says who holds the peak, and what would help by how many bytes.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_MEMORY_BUDGET_H
#define SLUICE_PASSES_MEMORY_BUDGET_H

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// Ok where the placed device arena and workspace keep to `memory.budget`; otherwise an error with its notes.
llvm::LogicalResult checkBudget(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_PASSES_MEMORY_BUDGET_H
