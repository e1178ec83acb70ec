//===- RecipeAttr.h - the recipe on the IR ------------------------------------------------===//
//
// A module carries its recipe as the dictionary attribute `model.recipe`, keyed by the recipe's dotted names, so that
// every dumped phase can run through the rest of the pipeline. A key that is absent has its default.
//
// A pass that reads settings declares an option for each (RecipeOptions.td) and reads the typed recipe with recipeFor:
// the module's recipe, overridden by the options that are given.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_RECIPE_RECIPEATTR_H
#define SLUICE_PASSES_RECIPE_RECIPEATTR_H

#include "passes/recipe/Recipe.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// Sets the module's `model.recipe` to the values that differ from the defaults, in the order of the keys' names.
void attachRecipe(mlir::ModuleOp module, const Recipe &recipe);

/// The recipe of the module, each value checked; the defaults without one. Not resolved.
Result<Recipe> attachedRecipe(mlir::ModuleOp module);

/// The resolved recipe of the module with `options`, pairs of key and value, instead of its values. Origins are
/// those that attachRecipe recorded, else `recipe`.
Result<Recipe> recipeOf(mlir::ModuleOp module,
                        llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>> options = {});

namespace detail {
/// An option that is named after its key, or a list of key=value.
template <typename Option>
void collectGiven(const Option &option, llvm::SmallVectorImpl<std::pair<llvm::StringRef, llvm::StringRef>> &given) {
  if constexpr (requires { option.getValue(); }) {
    if (!option.getValue().empty())
      given.emplace_back(option.ArgStr, option.getValue());
  } else {
    for (const std::string &setting : option)
      given.push_back(llvm::StringRef(setting).split('='));
  }
}
} // namespace detail

/// The same with options of a pass: a RecipeOption, which is not given if it is empty, or a list of key=value. Errors
/// are emitted on the module.
template <typename... Options> llvm::FailureOr<Recipe> recipeFor(mlir::ModuleOp module, const Options &...options) {
  llvm::SmallVector<std::pair<llvm::StringRef, llvm::StringRef>> given;
  (detail::collectGiven(options, given), ...);
  Result<Recipe> recipe = recipeOf(module, given);
  if (!recipe.isOk())
    return module.emitError() << recipe.status().message();
  return std::move(*recipe);
}

} // namespace sluice

#endif // SLUICE_PASSES_RECIPE_RECIPEATTR_H
