//===- AlgorithmFile.cpp - a run's file of measured algorithms -------------------===//
#include "runtime/train/AlgorithmFile.h"
#include "runtime/executor/Backend.h"

namespace sluice {

Result<std::shared_ptr<cuda::Algorithms>> openAlgorithms(const plan::PlanT &plan, const RanksOptions &options, bool measures) {
  if (options.algorithms.empty())
    return std::shared_ptr<cuda::Algorithms>();
  if (!isCudaPlan(plan))
    return Status(StatusCode::usage, "--algorithms, expected a plan for cuda but got one for " + (plan.target ? plan.target->device : "no device"));
  return std::make_shared<cuda::Algorithms>(options.algorithms, measures);
}

Status closeAlgorithms(const cuda::Algorithms *algorithms, const RanksOptions &options) {
  if (!algorithms)
    return {};
  if (const std::string why = algorithms->whyUnused(); !why.empty() && options.note)
    options.note(why);
  return algorithms->write();
}

} // namespace sluice
