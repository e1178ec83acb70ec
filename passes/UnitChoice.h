//===- UnitChoice.h - parameters before and after the blocks as units ------------------------===//
#ifndef SLUICE_PASSES_UNITCHOICE_H
#define SLUICE_PASSES_UNITCHOICE_H

#include "passes/recipe/Recipe.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// The table of `sharding.units` in which each outermost block is a unit, the parameters that the forward reads only
/// before the first block are the unit `embedding`, and those that it reads only after the last block the unit `head`.
/// nullopt if that is one unit as with "block", or if a block has one of these names. The module is after the phase
/// `optimize`.
std::optional<RecipeTable> splitRootUnit(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_PASSES_UNITCHOICE_H
