//===- WhatIf.h - sluice-compile --what-if, --pareto, --fit -----------------------------------===//
#ifndef SLUICE_TOOLS_COMPILE_WHATIF_H
#define SLUICE_TOOLS_COMPILE_WHATIF_H

#include "tools/compile/Options.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// Compiles the variants of the model, prints their table or JSON, and writes the plan of the best one to
/// `options.output` unless that is empty. Returns the exit code.
int compareVariants(const CompileOptions &options, mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_TOOLS_COMPILE_WHATIF_H
