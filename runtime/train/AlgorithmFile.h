//===- AlgorithmFile.h - a run's file of measured algorithms ---------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_ALGORITHMFILE_H
#define SLUICE_RUNTIME_TRAIN_ALGORITHMFILE_H

#include "runtime/kernel/cuda/Algorithms.h"
#include "runtime/train/Ranks.h"

namespace sluice {

/// Those that the options name; null where they name none. `measures`: may a missing file be made?
Result<std::shared_ptr<cuda::Algorithms>> openAlgorithms(const plan::PlanT &plan, const RanksOptions &options, bool measures);

/// Once the executors are made: writes what was measured, tells why a file is not used. Null is well.
Status closeAlgorithms(const cuda::Algorithms *algorithms, const RanksOptions &options);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_ALGORITHMFILE_H
