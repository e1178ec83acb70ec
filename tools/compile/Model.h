//===- Model.h - the model of a command line --------------------------------------------------===//
#ifndef SLUICE_TOOLS_COMPILE_MODEL_H
#define SLUICE_TOOLS_COMPILE_MODEL_H

#include "tools/compile/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace sluice {

/// Reads the model, creates the folder of --dump-phases, and returns the exit code of `run`. The module and its
/// context, which are larger than a plan, are freed on return. Errors are reported, with their exit code.
int withModel(const CompileCommand &command, llvm::function_ref<int(mlir::ModuleOp)> run);

} // namespace sluice

#endif // SLUICE_TOOLS_COMPILE_MODEL_H
