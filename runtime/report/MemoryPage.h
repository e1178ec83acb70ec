//===- MemoryPage.h - sluice-plan memory --html -----------------------------------------------===//
//
// One HTML file that shows a plan in a browser: live bytes by class, buffers in the arena, streams. It loads nothing
// else. MemoryPage.html is its template; the plan's data is in it as JSON.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_MEMORYPAGE_H
#define SLUICE_RUNTIME_REPORT_MEMORYPAGE_H

#include "runtime/base/Json.h"
#include "runtime/plan/Plan.h"

#include <string>
#include <vector>

namespace sluice {

/// The data of the page. `predictions` is empty, or has for each entry point its predicted times on `machine`, as the
/// page reads them (tools/plan/PredictedPage.h).
Json memoryPageJson(const plan::PlanT &plan, const std::vector<Json> &predictions, const std::string &machine);

/// The template with `data`. Text of the plan cannot end the element that holds it.
std::string memoryPage(const Json &data);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_MEMORYPAGE_H
