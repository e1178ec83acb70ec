//===- DnnOption.cpp - whether a run's kernels are computed by cuDNN -------------===//
#include "runtime/train/DnnOption.h"
#include "runtime/executor/Backend.h"

namespace sluice {

Result<std::shared_ptr<cuda::DnnUse>> openDnnUse(const plan::PlanT &plan, const RanksOptions &options) {
  if (options.cudnn == "off")
    return std::shared_ptr<cuda::DnnUse>();
  if (isCudaPlan(plan))
    return std::make_shared<cuda::DnnUse>(options.cudnn == "on" ? cuda::DnnMode::on : cuda::DnnMode::automatic);
  if (options.cudnn == "on")
    return Status(StatusCode::usage, "'--cudnn on' requires a plan for cuda, but this plan is for " +
                                         (plan.target ? plan.target->device : "no device"));
  return std::shared_ptr<cuda::DnnUse>();
}

void reportDnnUse(const cuda::DnnUse *use, const RanksOptions &options) {
  if (!use || !options.note)
    return;
  for (const std::string &note : use->notes())
    options.note(note);
}

} // namespace sluice
