//===- DnnOption.h - whether a run's kernels are computed by cuDNN ---------------===//
#ifndef SLUICE_RUNTIME_TRAIN_DNNOPTION_H
#define SLUICE_RUNTIME_TRAIN_DNNOPTION_H

#include "runtime/kernel/cuda/DnnUse.h"
#include "runtime/train/Ranks.h"

namespace sluice {

/// cuDNN as the options request it; null if they do not, and for a CPU plan.
Result<std::shared_ptr<cuda::DnnUse>> openDnnUse(const plan::PlanT &plan, const RanksOptions &options);

/// After the executors are created: reports the chosen kernels. Accepts null.
void reportDnnUse(const cuda::DnnUse *use, const RanksOptions &options);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_DNNOPTION_H
