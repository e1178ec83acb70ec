//===- BudgetSolver.h - the cheapest alternatives within a memory budget ---------------------===//
//
// Dynamic programming over the stages. A state after k stages is a number of saved bytes with its least cost; a state
// that saves no more and costs no less than another one is dropped. Equal stages lead to equal states. If there are
// more than `stateLimit` states, the range of saved bytes is divided into as many intervals and each keeps its cheapest
// state: the solution is still within the budget, but may not be the cheapest. A lower bound of the cost takes each
// interval as one state with the most saved bytes and the least cost of its states.
//
// Both functions are deterministic, and their work is at most stages x alternatives x `stateLimit` states.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_CHOOSE_BUDGETSOLVER_H
#define SLUICE_PASSES_SOLVER_CHOOSE_BUDGETSOLVER_H

#include "passes/solver/choose/BudgetProblem.h"

#include <optional>

namespace sluice {

inline constexpr std::size_t budgetStates = 1024;

/// Nothing if no choice is within the budget.
std::optional<BudgetSolution> solveBudget(const BudgetProblem &problem, std::size_t stateLimit = budgetStates);

/// No choice within the budget costs less; the cost of solveBudget if there are at most `stateLimit` states. Nothing if
/// no choice is within the budget.
std::optional<BudgetCost> boundBudget(const BudgetProblem &problem, std::size_t stateLimit = budgetStates);

/// The choice with the lowest peak: of each stage the alternative that saves most, the cheapest of equals; with bytes
/// in flight, the cheapest choice of the lowest budget that has one.
BudgetSolution lowestPeak(const BudgetProblem &problem);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_CHOOSE_BUDGETSOLVER_H
