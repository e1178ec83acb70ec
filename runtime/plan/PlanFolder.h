//===- PlanFolder.h - plans of one job for different numbers of ranks -----------------===//
#ifndef SLUICE_RUNTIME_PLAN_PLANFOLDER_H
#define SLUICE_RUNTIME_PLAN_PLANFOLDER_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>

namespace sluice {

/// The file of the plan for this number of ranks: "FOLDER/world-8.plan".
std::string planOfWorld(const std::string &folder, std::int64_t world);

/// That file, or `path` if it is no folder. An input error if the folder has no plan for `world` ranks, with those that
/// it has; `world` 0: the ranks are not known, because no launcher started them.
Result<std::string> choosePlan(const std::string &path, std::int64_t world);

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_PLANFOLDER_H
