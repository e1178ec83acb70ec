//===- CompileRecipe.cpp - the recipe of a compilation ----------------------------------------===//
#include "passes/driver/CompileRecipe.h"

#include "passes/Pipeline.h"
#include "passes/model/Common.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/recipe/RecipeKeys.h"

namespace sluice {

Status readRecipe(Recipe &recipe, const CompileOptions &options) {
  if (!options.recipe.empty())
    SLUICE_RETURN_IF_ERROR(recipe.addFile(options.recipe));
  if (!options.recipeText.empty())
    SLUICE_RETURN_IF_ERROR(recipe.addText(options.recipeText, "recipe"));
  for (const std::string &setting : options.settings)
    SLUICE_RETURN_IF_ERROR(recipe.addSetting(setting));
  for (const std::string &setting : options.variant)
    SLUICE_RETURN_IF_ERROR(recipe.addSetting(setting, "--what-if"));
  return recipe.resolve();
}

Result<Recipe> mergeRecipe(mlir::ModuleOp module, const CompileOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(Recipe recipe, attachedRecipe(module));
  Recipe carried = recipe;
  // Packed rows have different numbers of targets.
  if (constexpr std::string_view key = "loss.mean"; hasInput(module, PortRole::documents) && !recipe.isAdded(key))
    SLUICE_RETURN_IF_ERROR(recipe.add(key, std::string("tokens"), "default of packed rows"));
  SLUICE_RETURN_IF_ERROR(readRecipe(recipe, options));
  if (llvm::StringRef done = compiledTo(module); !done.empty()) {
    SLUICE_RETURN_IF_ERROR(carried.resolve());
    for (const RecipeKey &key : recipeKeys())
      if (recipe.value(key.name) != carried.value(key.name))
        return inputError(recipe.origin(key.name) + ": value of '" + key.name + "' for a module that is compiled to '" +
                          done.str() + "', expected " + printRecipeValue(carried.value(key.name)) +
                          " as it was begun but got " + printRecipeValue(recipe.value(key.name)));
    return recipe;
  }
  attachRecipe(module, recipe);
  return recipe;
}

} // namespace sluice
