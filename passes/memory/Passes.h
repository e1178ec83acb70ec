//===- Passes.h - the memory stage: sharing, lifespans, placement -------------------===//
#ifndef SLUICE_PASSES_MEMORY_PASSES_H
#define SLUICE_PASSES_MEMORY_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
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

/// True for the error of plan-check-budget, after which the module still holds a placed plan.
bool isOverBudgetError(const mlir::Diagnostic &diagnostic);

} // namespace sluice

#endif // SLUICE_PASSES_MEMORY_PASSES_H
