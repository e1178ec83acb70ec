//===- WhatIf.h - compiles and compares variants ----------------------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_WHATIF_H
#define SLUICE_PASSES_DRIVER_WHATIF_H

#include "passes/driver/CompileOptions.h"
#include "passes/driver/VariantReport.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// Compiles the variants of the model that `options` requests, and finds the best one. Variants that are not feasible
/// are rows of the report; an error is one of the options.
Result<VariantReport> compareVariants(const CompileOptions &options, mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_WHATIF_H
