//===- Pipeline.h - from an imported model to a plan, phase by phase --------------------===//
//
// The table of phases. Each phase takes the IR of the phase before. `model.compiled_to` of a module is its last phase,
// so that a dumped file can run through the rest.
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

/// All phases in order, without emission, which converts IR to bytes.
llvm::ArrayRef<PipelinePhase> pipelinePhases();

/// Null where there is no phase of that name.
const PipelinePhase *findPhase(llvm::StringRef name);

/// The last phase that ran on the module; empty before the first.
llvm::StringRef compiledTo(mlir::ModuleOp module);

/// Runs the phases that the module has not been through, up to and including `last` (null: all). `afterPhase` is called
/// with the phase's number, from 1. The failure of a phase is an input error, with its diagnostics printed; IR that
/// does not verify after a phase is an internal error, but an input error if the module was the dump of a phase. It is
/// verified after each phase, or only after the last one.
Status runPhases(mlir::ModuleOp module, const PipelinePhase *last,
                 llvm::function_ref<Status(unsigned, const PipelinePhase &)> afterPhase = {},
                 bool verifiesEachPhase = true);

/// The input error of a dump of a phase that does not compile to a plan.
Status editedDump(const std::string &message);

/// Reads the bytes back and runs the checker; a plan that is refused is an internal error, or editedDump() if it was
/// compiled from the file `dump`.
Status checkEmitted(const PlanBytes &bytes, const std::string &dump = {});

/// Every dialect of the phases' IR.
void registerSluiceDialects(mlir::DialectRegistry &registry);

/// Every pass, and a pipeline `sluice-<phase>` for each phase, which takes settings of the recipe (`set=`) in place of
/// those of the module.
void registerSluicePasses();

} // namespace sluice

#endif // SLUICE_PASSES_PIPELINE_H
