//===- MemoryPage.h - sluice-plan memory --html -----------------------------------------------===//
//
// One HTML file that shows a plan in a browser: live bytes by class, buffers in the arena, streams. It loads nothing
// else. MemoryPage.html is its template; the plan's data is in it as JSON.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_PLAN_MEMORYPAGE_H
#define SLUICE_TOOLS_PLAN_MEMORYPAGE_H

#include "passes/solver/simulate/Prediction.h"
#include "runtime/base/Json.h"
#include "runtime/plan/Commands.h"

#include <string>
#include <vector>

namespace sluice {

struct MemoryPageCommand {
  std::string plan, output;
  /// Description of the machine for predicted times; empty: the page has no times.
  std::string machine;
};

/// Writes the page; prints nothing.
PlanCommandResult runMemoryPage(const MemoryPageCommand &command);

/// The data of the page. `steps` is empty, or has the prediction of each entry point on `machine`.
Json memoryPageJson(const plan::PlanT &plan, const std::vector<PredictedStep> &steps, const std::string &machine);

/// The template with `data`. Text of the plan cannot end the element that holds it.
std::string memoryPage(const Json &data);

} // namespace sluice

#endif // SLUICE_TOOLS_PLAN_MEMORYPAGE_H
