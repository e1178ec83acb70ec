//===- Recognize.h - composite ops from the primitives of an imported graph ---------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_RECOGNIZE_H
#define SLUICE_PASSES_IMPORT_EXPORT_RECOGNIZE_H

#include "passes/import/export/Call.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice::exported {

/// Rewrites a function with placeholders of constants.
void recognize(mlir::func::FuncOp function, Importer &importer);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_RECOGNIZE_H
