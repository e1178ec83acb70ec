//===- Origins.h - the user's places of ops, from their locations ---------------------------===//
#ifndef SLUICE_PASSES_IMPORT_STABLEHLO_ORIGINS_H
#define SLUICE_PASSES_IMPORT_STABLEHLO_ORIGINS_H

#include "passes/import/export/Graph.h"

#include "mlir/IR/Location.h"

namespace sluice::stablehlo {

/// The file and line of a location, and the scopes of its name: "jit(loss)/h.0/mlp/add" is in the module `h.0.mlp`. An
/// op of a function that is called is in the modules of the call. Types are the names of the scopes.
exported::Origin originOf(mlir::Location location, const exported::Origin &call);

/// Gives scopes with numbers the form of numbered modules: `layers_0`, as Flax names it, is `layers.0` of the type
/// `layers`. A scope that Flax has named after a class, `Dense_0`, has a number only if there are scopes in it.
void numberScopes(exported::Program &program);

/// Where no op has a module: an op is in the layer whose parameters it is the first to read, as far as the next layer.
/// Layers are parameters whose names differ in one number, such as `h.0.w` and `h.1.w`.
void placeByParameters(exported::Program &program);

} // namespace sluice::stablehlo

#endif // SLUICE_PASSES_IMPORT_STABLEHLO_ORIGINS_H
