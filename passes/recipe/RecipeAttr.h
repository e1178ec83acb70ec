//===- RecipeAttr.h - the recipe on the IR ------------------------------------------------===//
//
// A module carries its recipe as the dictionary attribute `model.recipe`, keyed by the recipe's dotted names, so that
// every dumped phase can be put through the rest of the pipeline alone. A key that is absent has its default.
//
// A pass that reads settings declares an option for each (RecipeOptions.td) and reads the typed recipe with recipeFor:
// the module's recipe, with the options that are given in its place.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_RECIPE_RECIPEATTR_H
#define SLUICE_PASSES_RECIPE_RECIPEATTR_H

#include "passes/recipe/Recipe.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// Sets the module's `model.recipe` to the values that differ from the defaults, in the order of the keys' names.
void attachRecipe(mlir::ModuleOp module, const Recipe &recipe);

/// The recipe that the module carries, each value checked; the defaults if it carries none. Not resolved.
Result<Recipe> attachedRecipe(mlir::ModuleOp module);

/// The resolved recipe of the module with `options`, pairs of key and value, in place of what it carries. Origins are
/// those that attachRecipe recorded, else `recipe`.
Result<Recipe> recipeOf(mlir::ModuleOp module,
                        llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>> options = {});

/// The same with the options of a pass, each named after its key; an empty one is not given. Errors are emitted on the
/// module.
template <typename... Options>
llvm::FailureOr<Recipe> recipeFor(mlir::ModuleOp module, const Options &...options) {
  llvm::SmallVector<std::pair<llvm::StringRef, llvm::StringRef>> given;
  ((options.getValue().empty() ? void() : void(given.emplace_back(options.ArgStr, options.getValue()))), ...);
  Result<Recipe> recipe = recipeOf(module, given);
  if (!recipe.isOk())
    return module.emitError() << recipe.status().message();
  return std::move(*recipe);
}

} // namespace sluice

#endif // SLUICE_PASSES_RECIPE_RECIPEATTR_H
