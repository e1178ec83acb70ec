//===- Planner.h - settings that the compiler chooses ---------------------------------------===//
//
// Replaces "budget" and "auto" in a recipe by the settings of the best plan that was compiled: the ops that blocks
// recompute, the units that stay gathered, the tensors in host memory, the boundaries of units, the issue of gathers,
// the units that stay gathered between micro-batches, and the number of reductions in flight.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_CHOOSE_PLANNER_H
#define SLUICE_PASSES_CHOOSE_PLANNER_H

#include "passes/Pipeline.h"
#include "passes/choose/Choice.h"

namespace sluice {

/// True if the recipe has a value that makeChoices replaces.
bool leavesChoices(const Recipe &recipe);

/// With kernels.attention = "auto" and a budget that a plan with cuDNN's attention exceeds, it becomes "own"; otherwise
/// that plan is the result, even if the recipe leaves no other choice.
///
/// If the recipe of the module leaves choices to the planner: runs the phases before them, chooses, and sets the recipe
/// to the choice, so that the remaining phases give its plan. Time is predicted for `machine`; where it is null, plans
/// are compared by FLOPs and bytes, and a choice of prefetch is an error. `afterPhase` as for runPhases. Nothing if
/// there is nothing to choose.
Result<std::optional<PlanChoice>>
makeChoices(mlir::ModuleOp module, const Machine *machine,
            llvm::function_ref<Status(unsigned, const PipelinePhase &)> afterPhase = {});

} // namespace sluice

#endif // SLUICE_PASSES_CHOOSE_PLANNER_H
