//===- Passes.h - the model stage: from the forward to the train step ----------------===//
//
// Phases of this stage, in order: input, prepare, differentiate, optimize, recompute. All are model to model.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_MODEL_PASSES_H
#define SLUICE_PASSES_MODEL_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <memory>
#include <string>

namespace sluice {

/// One creator for each pass, and registerModelPasses().
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/model/Passes.h.inc"

/// Phase input: verifies the imported module.
void buildInput(mlir::OpPassManager &manager);
/// Phase prepare: flat ops, compute precision, fusions.
void buildPrepare(mlir::OpPassManager &manager);
/// Phase differentiate: loss and backward, and fusions of forward and backward ops.
void buildDifferentiate(mlir::OpPassManager &manager);
/// Phase optimize: the update.
void buildOptimize(mlir::OpPassManager &manager);
/// Phase recompute: recompute regions; then values are numbered and the program is recorded.
void buildRecompute(mlir::OpPassManager &manager);

} // namespace sluice

#endif // SLUICE_PASSES_MODEL_PASSES_H
