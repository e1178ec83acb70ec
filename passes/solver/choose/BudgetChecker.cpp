//===- BudgetChecker.cpp - verification of a choice within a memory budget -------------------===//
#include "passes/solver/choose/BudgetChecker.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace sluice {

Status checkBudgetSolution(const BudgetProblem &problem, const BudgetSolution &solution) {
  const std::size_t count = problem.stages.size();
  if (solution.chosen.size() != count)
    return internalError(concat("choice of ", solution.chosen.size(), " alternatives for ", count, " stages"));
  std::int64_t time = 0, traffic = 0;
  for (std::size_t s = 0; s < count; ++s) {
    const auto &alternatives = problem.stages[s].alternatives;
    if (solution.chosen[s] >= alternatives.size())
      return internalError(concat("stage ", s, " has no alternative ", solution.chosen[s]));
    time += alternatives[solution.chosen[s]].cost.time;
    traffic += alternatives[solution.chosen[s]].cost.traffic;
  }
  if (time != solution.cost.time || traffic != solution.cost.traffic)
    return internalError(concat("the choice costs ", time, " and ", traffic, " bytes, but the solution states ",
                                solution.cost.time, " and ", solution.cost.traffic));
  std::int64_t peak = problem.live[0];
  for (std::size_t k = 0; k <= count; ++k) {
    std::int64_t live = problem.live[k];
    for (std::size_t s = 0; s < k; ++s)
      live -= problem.stages[s].alternatives[solution.chosen[s]].savedBytes;
    if (k > 0)
      live += problem.stages[k - 1].alternatives[solution.chosen[k - 1]].inFlightBytes;
    if (live > problem.budget)
      return internalError(
          concat(live, " bytes are live after ", k, " stages, more than the budget of ", problem.budget));
    peak = std::max(peak, live);
  }
  if (peak != solution.peak)
    return internalError(concat("the peak is ", peak, " bytes, but the solution states ", solution.peak));
  return Status::ok();
}

} // namespace sluice
