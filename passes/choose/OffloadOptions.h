//===- OffloadOptions.h - units whose states are in host memory -------------------------------===//
//
// With memory.offload = "auto" the compiler chooses the blocks whose activations are in host memory (PlanStages.h), and
// the units whose optimizer states, or also parameters, are there (UnitOffload.h).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_CHOOSE_OFFLOADOPTIONS_H
#define SLUICE_PASSES_CHOOSE_OFFLOADOPTIONS_H

#include "passes/choose/BudgetDecisions.h"
#include "passes/choose/CompiledPlan.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace sluice {

/// Compiles a plan with these entries of units in memory.offload.
using CompileOffloaded = llvm::function_ref<Result<CompiledPlan>(const RecipeTable &)>;

/// The entries of units that have a kind.
RecipeTable offloadTable(const OffloadOptions &options, std::size_t kind, std::size_t units);

/// Compiles a plan for each kind, with all units offloaded, by `compile`, and compares it with the base plan. A kind
/// that saves nothing is left out.
Result<OffloadOptions> findOffloadOptions(const plan::PlanT &base, const PlanStages &stages,
                                          const StageFreedom &freedom, const Machine &machine,
                                          CompileOffloaded compile);

/// Compiles a plan with the first unit of a kind offloaded, for its time.
Result<std::int64_t> timeOfFirstUnit(const OffloadOptions &options, std::size_t kind, const Machine &machine,
                                     CompileOffloaded compile);

/// The value of memory.offload for a choice: the recipe's lists without activations, the units' entries `table`, and
/// activations of the stages whose alternative has them in host memory.
RecipeValue offloadValue(const Recipe &recipe, RecipeTable table, const PlanStages &stages,
                         const std::vector<std::uint32_t> &chosen);

} // namespace sluice

#endif // SLUICE_PASSES_CHOOSE_OFFLOADOPTIONS_H
