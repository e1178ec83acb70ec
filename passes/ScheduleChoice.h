//===- ScheduleChoice.h - values of schedule settings that are compared ----------------------===//
//
// Each alternative is a list of settings. The first one is the plan to start from; the planner compiles a plan for each
// of the others and keeps the best. Numbers up to 8 are alternatives, then powers of two, and the largest number.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SCHEDULECHOICE_H
#define SLUICE_PASSES_SCHEDULECHOICE_H

#include "passes/PlanChoice.h"

namespace sluice {

inline constexpr const char *reduceBuffersKey = "schedule.reduce_buffers",
                            *afterBackwardKey = "sharding.reshard_after_backward",
                            *afterForwardKey = "sharding.reshard_after_forward";

/// `first`, each greater number up to 8, then powers of two, and `last`.
std::vector<std::int64_t> comparedNumbers(std::int64_t first, std::int64_t last);

/// 'schedule.reduce_buffers' from 1 to the number of reductions in a micro-batch of the plan's training step.
std::vector<ChosenValues> reduceBufferAlternatives(const plan::PlanT &plan);

/// For 'sharding.reshard_after_backward' = "auto": no unit stays gathered between micro-batches, or the first units in
/// the order of the plan's forward, which are needed last in one micro-batch and first in the next. They also stay
/// gathered after the forward, so units for which the recipe says to reshard then are left out. `reshard` is the value
/// of 'sharding.reshard_after_forward'. The first alternative is the plan's.
std::vector<ChosenValues> afterBackwardAlternatives(const plan::PlanT &plan, const Recipe &recipe,
                                                    const RecipeValue &reshard);

/// Replaces the plan of `choice` by the best of the alternatives of a setting, of which it has the first. `from` is the
/// module that all plans are compiled from. `isPriced`: a plan with more memory must also be worth it
/// (isWorthItsMemory).
Status compareSetting(mlir::ModuleOp from, const char *key, const std::vector<ChosenValues> &alternatives,
                      bool isPriced, PlanComparison &comparison, PlanChoice &choice);

} // namespace sluice

#endif // SLUICE_PASSES_SCHEDULECHOICE_H
