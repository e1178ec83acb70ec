//===- Arena.h - the packing problem of an entry point ------------------------------===//
#ifndef SLUICE_PASSES_MEMORY_ARENA_H
#define SLUICE_PASSES_MEMORY_ARENA_H

#include "dialect/plan/Plan.h"
#include "passes/solver/PackingProblem.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// The alignment of every offset in an arena: sufficient for vector loads and GPU libraries.
inline constexpr std::uint64_t arenaAlignment = 256;

/// The buffers of one entry point (empty: the persistent ones) in one space, in the module's order.
llvm::SmallVector<plan_ir::BufferOp> buffersOf(mlir::ModuleOp module, MemorySpace space, llvm::StringRef entry);

/// Their lifespans and sizes.
PackingProblem problemOf(llvm::ArrayRef<plan_ir::BufferOp> buffers);

} // namespace sluice

#endif // SLUICE_PASSES_MEMORY_ARENA_H
