//===- Pipeline.h - from an imported model to a plan, phase by phase --------------------===//
//
// The one table of phases. Each takes the IR that the phase before leaves; a module says in `model.compiled_to` which
// phase it has been through, so that any dumped file can be put through the rest.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_PIPELINE_H
#define SLUICE_PASSES_PIPELINE_H

#include "runtime/base/Status.h"
#include "runtime/plan/PlanWriter.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"

namespace sluice {

struct PipelinePhase {
  llvm::StringLiteral name;
  llvm::StringLiteral doc;
  void (*build)(mlir::OpPassManager &manager);
};

/// All phases in order, but the last step: emitting, which leaves IR for bytes.
llvm::ArrayRef<PipelinePhase> pipelinePhases();

/// Null where there is no phase of that name.
const PipelinePhase *findPhase(llvm::StringRef name);

/// The last phase that the module has been through; empty before the first.
llvm::StringRef compiledTo(mlir::ModuleOp module);

/// Puts the module through the phases that it has not been through yet, up to and with `last` (null: all). `afterPhase`
/// is called with the phase's number, from 1. What a phase refuses is an input error, with its diagnostics printed; IR
/// that does not verify after a phase is an internal one.
Status runPhases(mlir::ModuleOp module, const PipelinePhase *last,
                 llvm::function_ref<Status(unsigned, const PipelinePhase &)> afterPhase = {});

/// The plan's bytes, of a module that has been through all phases, whose entry points are erased on the way.
llvm::FailureOr<PlanBytes> emitModule(mlir::ModuleOp module);

/// Reads the bytes back and checks them, as any reader would; a plan that is refused is an internal error.
Status checkEmitted(const PlanBytes &bytes);

/// Every dialect that a phase can leave.
void registerSluiceDialects(mlir::DialectRegistry &registry);

/// Every pass, and a pipeline `sluice-<phase>` for each phase, which takes settings of the recipe (`set=`) in place of
/// those of the module.
void registerSluicePasses();

} // namespace sluice

#endif // SLUICE_PASSES_PIPELINE_H
