//===- DnnOption.h - whether a run's kernels are computed by cuDNN ---------------===//
#ifndef SLUICE_RUNTIME_TRAIN_DNNOPTION_H
#define SLUICE_RUNTIME_TRAIN_DNNOPTION_H

#include "runtime/kernel/cuda/DnnUse.h"
#include "runtime/train/Ranks.h"

namespace sluice {

/// What the options ask for; null where that is nothing, and of a plan for the CPU.
Result<std::shared_ptr<cuda::DnnUse>> openDnnUse(const plan::PlanT &plan, const RanksOptions &options);

/// Once the executors are made: tells what was chosen. Null is well.
void tellDnnUse(const cuda::DnnUse *use, const RanksOptions &options);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_DNNOPTION_H
