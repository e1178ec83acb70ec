//===- CompileModel.h - from a model and a recipe to a plan -----------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_COMPILEMODEL_H
#define SLUICE_PASSES_DRIVER_COMPILEMODEL_H

#include "passes/driver/CompileOptions.h"
#include "runtime/plan/PlanWriter.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

struct Compilation {
  /// StatusCode::budget for a plan over the memory budget, with a note for each setting that needs less memory.
  Status status;
  /// The message of the status was emitted as a diagnostic of the context.
  bool isEmitted = false;
  /// Empty after an error, or if IR is requested.
  PlanBytes plan;
  /// The module was the dump of a phase.
  bool isDump = false;
  /// The choices of the planner as JSON; empty if the recipe leaves none.
  std::string decisions;
};

/// Runs the phases on the module, which keeps the IR after the last one, and writes the files of `options`. Other
/// errors of passes are diagnostics of the context, before the status.
Compilation compileModel(const CompileOptions &options, mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_COMPILEMODEL_H
