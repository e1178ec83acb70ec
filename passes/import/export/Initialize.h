//===- Initialize.h - initial values of parameters by the types of their modules ----------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_INITIALIZE_H
#define SLUICE_PASSES_IMPORT_EXPORT_INITIALIZE_H

#include "passes/import/export/Graph.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice::exported {

/// Gives each parameter and state of the model the distribution with which torch's module of its type begins.
/// Parameters of modules without a rule are an error that lists their names.
Status initializeByModule(mlir::ModuleOp module, const Graph &graph);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_INITIALIZE_H
