//===- BudgetChecker.h - verification of a choice within a memory budget ---------------------===//
//
// Recomputes bytes and cost of a choice without the solver's code.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_CHOOSE_BUDGETCHECKER_H
#define SLUICE_PASSES_SOLVER_CHOOSE_BUDGETCHECKER_H

#include "passes/solver/choose/BudgetProblem.h"
#include "runtime/base/Status.h"

namespace sluice {

/// Ok where each stage has one of its alternatives, cost and peak are those of the choice, and the peak is within the
/// budget. Otherwise an error with the number of stages or the bytes.
Status checkBudgetSolution(const BudgetProblem &problem, const BudgetSolution &solution);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_CHOOSE_BUDGETCHECKER_H
