//===- Passes.h - the memory stage: sharing, lifespans, placement -------------------===//
#ifndef SLUICE_PASSES_MEMORY_PASSES_H
#define SLUICE_PASSES_MEMORY_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <memory>

namespace sluice {

/// One creator for each pass, and registerMemoryPasses().
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/memory/Passes.h.inc"

/// Phase memory: every buffer gets a lifespan and an offset.
void buildMemory(mlir::OpPassManager &manager);

} // namespace sluice

#endif // SLUICE_PASSES_MEMORY_PASSES_H
