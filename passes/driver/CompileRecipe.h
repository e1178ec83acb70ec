//===- CompileRecipe.h - the recipe of a compilation ----------------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_COMPILERECIPE_H
#define SLUICE_PASSES_DRIVER_COMPILERECIPE_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/driver/CompileOptions.h"
#include "passes/recipe/Recipe.h"

namespace sluice {

/// Reads --recipe, --set and the settings of a variant over the values of `recipe`, and resolves it.
Status readRecipe(Recipe &recipe, const CompileOptions &options);

/// The recipe of the command line over the one that the module carries, attached to the module. The recipe of a
/// module that was compiled to a phase is already in use, so no value may differ.
Result<Recipe> mergeRecipe(mlir::ModuleOp module, const CompileOptions &options);

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_COMPILERECIPE_H
