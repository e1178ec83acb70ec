//===- PredictedPage.h - sluice-plan memory --html ------------------------------------------===//
#ifndef SLUICE_TOOLS_PLAN_PREDICTEDPAGE_H
#define SLUICE_TOOLS_PLAN_PREDICTEDPAGE_H

#include "runtime/report/commands/PlanCommand.h"

#include <string>

namespace sluice {

struct MemoryPageCommand {
  std::string plan, output;
  /// Description of the machine for predicted times; empty: the page has no times.
  std::string machine;
};

/// Writes the page; prints nothing.
PlanCommandResult runMemoryPage(const MemoryPageCommand &command);

} // namespace sluice

#endif // SLUICE_TOOLS_PLAN_PREDICTEDPAGE_H
