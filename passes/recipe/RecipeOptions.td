//===- RecipeOptions.td - settings of the recipe as options of passes --------------------===//
#ifndef SLUICE_PASSES_RECIPE_RECIPEOPTIONS_TD
#define SLUICE_PASSES_RECIPE_RECIPEOPTIONS_TD

include "mlir/Pass/PassBase.td"

/// The option `key=value` of a pass that reads the setting `key`: it overrides the value in the module's
/// `model.recipe`. The table of keys of the recipe gives type, bounds and meaning (sluice-compile --recipe-keys).
class RecipeOption<string cppName, string key>
    : Option<cppName, key, "std::string", /*default=*/"", "overrides '" # key # "' of the module's recipe">;

#endif // SLUICE_PASSES_RECIPE_RECIPEOPTIONS_TD
