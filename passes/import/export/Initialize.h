//===- Initialize.h - initial values of parameters by the types of their modules ----------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_INITIALIZE_H
#define SLUICE_PASSES_IMPORT_EXPORT_INITIALIZE_H

#include "passes/import/export/Graph.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice::exported {

/// Gives each parameter and state of the model the distribution with which torch's module of its type begins. What is
/// in a module without a known rule is an error that lists all such names.
Status initializeByModule(mlir::ModuleOp module, const Graph &graph);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_INITIALIZE_H
