//===- PlaceConstants.h - the constants of an imported program in the model --------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_PLACECONSTANTS_H
#define SLUICE_PASSES_IMPORT_EXPORT_PLACECONSTANTS_H

#include "passes/import/export/Call.h"
#include "runtime/base/Status.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice::exported {

/// Replaces placeholders of constants: one whose elements are equal, or a range along a dim, by ops, a table of
/// relative positions by its diagonals and a gather, others by inputs with values. More bytes than an entry point may
/// have are an error.
Status placeConstants(mlir::func::FuncOp function, Importer &importer);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_PLACECONSTANTS_H
