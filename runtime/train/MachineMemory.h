//===- MachineMemory.h - does a plan fit this machine? --------------------------===//
//
// The system gives out more memory than there is, and ends the process (or another) when it is used. So a plan that
// cannot fit is refused before anything is allocated.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_MACHINEMEMORY_H
#define SLUICE_RUNTIME_TRAIN_MACHINEMEMORY_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <cstdint>

namespace sluice {

/// Memory and swap of this machine in bytes, or what its control group allows; 0 where the system does not say.
std::uint64_t machineMemory();

/// Refuses a plan for the CPU of which `ranks` ranks take more than `limit` bytes in this process. A limit of 0 is
/// none.
Status checkFitsMachine(const plan::PlanT &plan, std::uint64_t ranks, std::uint64_t limit);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_MACHINEMEMORY_H
