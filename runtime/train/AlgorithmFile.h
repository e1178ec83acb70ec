//===- AlgorithmFile.h - a run's file of measured algorithms ---------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_ALGORITHMFILE_H
#define SLUICE_RUNTIME_TRAIN_ALGORITHMFILE_H

#include "runtime/kernel/cuda/Algorithms.h"
#include "runtime/train/Ranks.h"

namespace sluice {

/// Those that the options name; null where they name none. `world`: of the processes of the run; null: there is one.
Result<std::shared_ptr<cuda::Algorithms>> openAlgorithms(const plan::PlanT &plan, const RanksOptions &options,
                                                         World *world);

/// Once the executors are created: sends and writes what was measured, and notes why a file is not used. Null is well.
Status closeAlgorithms(cuda::Algorithms *algorithms, const RanksOptions &options);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_ALGORITHMFILE_H
