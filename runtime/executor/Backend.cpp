//===- Backend.cpp - the parts of an executor that depend on the device ------------===//
#include "runtime/executor/Backend.h"

namespace sluice {

bool isCudaPlan(const plan::PlanT &plan) { return plan.target && plan.target->device == "cuda"; }

PrepareFunction findKernelOf(const plan::PlanT &plan, const ExecutorOptions &options, std::string_view name,
                             plan::Processor processor) {
  if (options.findKernel)
    return options.findKernel(name, options.flavour);
  return isCudaPlan(plan) && processor == plan::Processor::device ? findCudaKernel(name)
                                                                  : findCpuKernel(name, options.flavour);
}

Result<std::unique_ptr<Backend>> createBackend(const plan::PlanT &plan, int rank, const ExecutorOptions &options,
                                               int threads) {
  if (isCudaPlan(plan))
    return createCudaBackend(plan, rank, options, threads);
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, createCpuDevice({threads, options.delays, options.prefault}));
  return std::make_unique<Backend>(std::move(device));
}

} // namespace sluice
