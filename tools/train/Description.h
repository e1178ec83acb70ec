//===- Description.h - what a run does, before its first step -----------------------------===//
#ifndef SLUICE_TOOLS_TRAIN_DESCRIPTION_H
#define SLUICE_TOOLS_TRAIN_DESCRIPTION_H

#include "tools/train/Options.h"

namespace sluice {

/// Lines for --verbose and --dry-run. The plan is the loaded one, with the memory of this run.
std::string describeRun(const TrainCommand &command, const plan::PlanT &plan, const std::optional<Launch> &launched);

} // namespace sluice

#endif // SLUICE_TOOLS_TRAIN_DESCRIPTION_H
