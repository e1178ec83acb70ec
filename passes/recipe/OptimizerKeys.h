//===- OptimizerKeys.h - keys of the recipe for hyper-parameters ---------------------------===//
#ifndef SLUICE_PASSES_RECIPE_OPTIMIZERKEYS_H
#define SLUICE_PASSES_RECIPE_OPTIMIZERKEYS_H

#include "passes/recipe/RecipeKeys.h"

namespace sluice {

/// The hyper-parameters of all optimizers, each name once.
const std::vector<HyperParameter> &hyperParameters();

/// The row `optimizer.<name>`. Its default is off if optimizers have different ones.
RecipeKey keyOf(const HyperParameter &parameter);

/// The optimizers that have the hyper-parameter, for messages: `"adamw" or "adam"`.
std::string optimizersWith(llvm::StringRef parameter);

} // namespace sluice

#endif // SLUICE_PASSES_RECIPE_OPTIMIZERKEYS_H
