//===- MachineMemory.h - memory of this machine and process ---------------------===//
//
// The operating system overcommits memory and kills a process that uses more than there is. So a plan that cannot fit
// is refused before anything is allocated.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_MACHINEMEMORY_H
#define SLUICE_RUNTIME_TRAIN_MACHINEMEMORY_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <cstdint>

namespace sluice {

/// Peak resident size of this process, in bytes; 0 if unknown.
std::uint64_t processHighWater();

/// Sets the peak to the present resident size and returns it, so that the next run in this process is measured without
/// the earlier ones (proc_pid_clear_refs(5)). Where the system does not allow it, the peak so far.
std::uint64_t restartProcessHighWater();

/// Memory and swap of this machine in bytes, or the limit of the control group if that is smaller; 0 if unknown.
std::uint64_t machineMemory();

/// Refuses a plan for the CPU if `ranks` of its ranks take more than `limit` bytes in this process. 0: no limit.
Status checkFitsMachine(const plan::PlanT &plan, std::uint64_t ranks, std::uint64_t limit, bool writesCheckpoints);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_MACHINEMEMORY_H
