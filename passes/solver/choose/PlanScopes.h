//===- PlanScopes.h - the uses of units in a plan --------------------------------------------===//
//
// Reads the problem of PrefetchProblem.h from a plan whose gathers are issued at their uses. Seconds are those of the
// launches and gathers alone on a machine.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_CHOOSE_PLANSCOPES_H
#define SLUICE_PASSES_SOLVER_CHOOSE_PLANSCOPES_H

#include "passes/solver/choose/PrefetchProblem.h"
#include "runtime/report/machine/MachineFile.h"

#include <string>
#include <vector>

namespace sluice {

struct PlanScopes {
  /// Its room is not set.
  PrefetchProblem problem;
  /// The unit of each scope. A direction begins with a scope of `root`.
  std::vector<std::string> units;
  /// False if a unit is gathered several times in a direction: tables by unit cannot say which.
  bool isByUnit = true;
};

/// Of an entry point. Rates that the machine does not have count as zero seconds.
PlanScopes readScopes(const plan::PlanT &plan, std::uint32_t entry, const Machine &machine);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_CHOOSE_PLANSCOPES_H
