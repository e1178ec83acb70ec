//===- AlgorithmFile.h - a run's file of measured algorithms ---------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_ALGORITHMFILE_H
#define SLUICE_RUNTIME_TRAIN_ALGORITHMFILE_H

#include "runtime/kernel/cuda/Algorithms.h"
#include "runtime/train/Ranks.h"

namespace sluice {

/// The algorithms that the options name; null if they name none. `world`: of the run's processes; null for one process.
Result<std::shared_ptr<cuda::Algorithms>> openAlgorithms(const plan::PlanT &plan, const RanksOptions &options,
                                                         World *world);

/// Once the executors are created: sends and writes the measured algorithms, and notes why a file is not used. Accepts
/// null.
Status closeAlgorithms(cuda::Algorithms *algorithms, const RanksOptions &options);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_ALGORITHMFILE_H
