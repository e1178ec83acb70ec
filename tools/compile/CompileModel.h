//===- CompileModel.h - from a model and a recipe to a plan -----------------------------------===//
#ifndef SLUICE_TOOLS_COMPILE_COMPILEMODEL_H
#define SLUICE_TOOLS_COMPILE_COMPILEMODEL_H

#include "runtime/plan/PlanWriter.h"
#include "tools/compile/Diagnostics.h"
#include "tools/compile/Options.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// Runs the phases on the module. Writes the plan's bytes to `plan`, or prints the IR if no plan is requested, and
/// whether the module was the dump of a phase to `isDump`. Returns the exit code.
int compileModel(const CompileOptions &options, mlir::ModuleOp module, const Diagnostics &diagnostics, PlanBytes &plan,
                 bool &isDump);

} // namespace sluice

#endif // SLUICE_TOOLS_COMPILE_COMPILEMODEL_H
