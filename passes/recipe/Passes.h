//===- Passes.h - model-attach-recipe ---------------------------------------------------===//
#ifndef SLUICE_PASSES_RECIPE_PASSES_H
#define SLUICE_PASSES_RECIPE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace sluice {

/// createAttachRecipe() and registerRecipePasses().
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/recipe/Passes.h.inc"

} // namespace sluice

#endif // SLUICE_PASSES_RECIPE_PASSES_H
