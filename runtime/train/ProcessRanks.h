//===- ProcessRanks.h - the trainer's ranks, each a process -----------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_PROCESSRANKS_H
#define SLUICE_RUNTIME_TRAIN_PROCESSRANKS_H

#include "runtime/train/Ranks.h"

namespace sluice {

/// Starts the rank of this process in `options.world`. The plan was read and checked.
Result<std::unique_ptr<Ranks>> openProcessRanks(plan::PlanT plan, const RanksOptions &options);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_PROCESSRANKS_H
