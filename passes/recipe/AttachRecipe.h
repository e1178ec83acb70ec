//===- AttachRecipe.h - between a recipe and the attribute that carries it -------------===//
#ifndef SLUICE_PASSES_RECIPE_ATTACHRECIPE_H
#define SLUICE_PASSES_RECIPE_ATTACHRECIPE_H

#include "passes/recipe/Recipe.h"
#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// Sets the module's `model.recipe` to what differs from the defaults, in the order of the keys' names.
void attachRecipe(mlir::ModuleOp module, const Recipe &recipe);

/// The recipe that the module carries, each value checked; empty where it carries none. Not resolved.
Result<Recipe> recipeOf(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_PASSES_RECIPE_ATTACHRECIPE_H
