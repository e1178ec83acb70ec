//===- Zoo.h - small models of the reference tests, by name -----------------------------===//
//
// Each model is one row of a table: its name, its keys with defaults, and the function that builds it. Parameters are
// named as in the modules of the reference tests.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_ZOO_ZOO_H
#define SLUICE_PASSES_IMPORT_ZOO_ZOO_H

#include "passes/import/Shapes.h"
#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace sluice {

/// Builds the model `name`; `settings` are `key=value`, other keys have their defaults. An unknown name is a usage
/// error with the nearest known name. With `shapes`, in place of the keys `batch` and `sequence`, the model has a train
/// entry point for each of them.
Result<mlir::OwningOpRef<mlir::ModuleOp>> importZoo(mlir::MLIRContext *context, const std::string &name,
                                                    const std::vector<std::string> &settings,
                                                    const std::vector<RowShape> &shapes = {});

/// Names, descriptions, keys with defaults: one line each.
std::string listZoo();

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_ZOO_ZOO_H
