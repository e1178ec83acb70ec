//===- Remedies.h - settings that reduce the memory of a rank ---------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_REMEDIES_H
#define SLUICE_PASSES_DRIVER_REMEDIES_H

#include "passes/driver/VariantCompiler.h"
#include "passes/recipe/Recipe.h"

namespace sluice {

/// For a plan over the memory budget, with `peak` bytes of device memory: compiles variants of the recipe and the
/// model, and returns a line for each of the three cheapest that need less memory: the setting, its bytes, and
/// predicted seconds if there is a machine. Variants within the budget are first, by FLOPs and then by transferred
/// bytes of a step, or by seconds; then the others by bytes. `module` as for VariantCompiler.
std::vector<std::string> findRemedies(const CompileOptions &options, mlir::ModuleOp module, const Recipe &recipe,
                                      const Machine *machine, std::uint64_t peak);

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_REMEDIES_H
