//===- UnitOffload.h - units with tensors in host memory, within a memory budget -------------===//
//
// Extends the problem of BudgetProblem.h: tensors of some units may be in host memory, of one kind (such as the states
// of the optimizer) for all of these units. Two plans give the bytes and the time of a kind: the base plan, and the one
// in which all units have it. The first n units, for some n, have their share of both, by their bytes, so of equal
// units only the number counts. A third plan, in which the first unit has it, makes the time more precise, because a
// part of it does not depend on the number: with any unit on the host, the norm of all gradients is computed there.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_CHOOSE_UNITOFFLOAD_H
#define SLUICE_PASSES_SOLVER_CHOOSE_UNITOFFLOAD_H

#include "passes/solver/choose/BudgetProblem.h"

#include <optional>

namespace sluice {

/// A kind of tensors, of all units.
struct OffloadKind {
  /// Parallel to BudgetProblem::live: bytes of the base plan that are not on the device.
  std::vector<std::int64_t> savedBytes;
  /// Compared with the base plan.
  std::int64_t time = 0;
  /// Of the first unit alone. The time of n units is linear in their bytes, between this and `time`; without it
  /// between 0 and `time`.
  std::optional<std::int64_t> timeOfFirst;
};

struct UnitOffloadProblem {
  BudgetProblem stages;
  /// Bytes of each unit, in the order in which units are offloaded; their sum is not zero if there are kinds.
  std::vector<std::int64_t> unitBytes;
  std::vector<OffloadKind> kinds;
};

struct UnitOffloadSolution {
  /// Of the stages alone; its cost is without that of the units.
  BudgetSolution stages;
  /// The index of a kind, and the number of units that have it; no kind for no units.
  std::size_t kind = 0, units = 0;
  /// Of stages and units.
  BudgetCost cost;
};

/// The stages if the first `units` units have the kind: other live bytes.
BudgetProblem stagesWith(const UnitOffloadProblem &problem, std::size_t kind, std::size_t units);

/// The cheapest choice of kind, number of units and alternatives, by solveBudget for each kind and number that can be
/// cheaper; of equal costs the one with fewer units. Nothing if no choice is within the budget. Deterministic.
std::optional<UnitOffloadSolution> solveUnitOffload(const UnitOffloadProblem &problem);

/// No choice within the budget costs less. Nothing if none is within the budget.
std::optional<BudgetCost> boundUnitOffload(const UnitOffloadProblem &problem);

/// The choice with the lowest peak of all that have all units or none.
UnitOffloadSolution lowestPeakWithUnits(const UnitOffloadProblem &problem);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_CHOOSE_UNITOFFLOAD_H
