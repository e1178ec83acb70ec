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
#include <string>
#include <string_view>

namespace sluice {

/// Peak resident size of this process, in bytes; 0 if unknown.
std::uint64_t processHighWater();

/// Sets the peak to the present resident size and returns it, so that the next run in this process is measured without
/// the earlier ones (proc_pid_clear_refs(5)). Where the system does not allow it, the peak so far.
std::uint64_t restartProcessHighWater();

/// The smallest memory limit in bytes of the control groups that a process is in, of version 1 and 2, with those around
/// them; 0: no limit. `groups`: the text of /proc/self/cgroup. `mount`: where the groups' files are. A container
/// may see only its group, at the mount itself.
std::uint64_t controlGroupMemory(std::string_view groups, const std::string &mount);

/// Memory and swap of this machine in bytes, or the limit of the control group if that is smaller; 0 if unknown.
std::uint64_t machineMemory();

/// Refuses a plan for the CPU if `ranks` of its ranks take more than `limit` bytes in this process. 0: no limit.
Status checkFitsMachine(const plan::PlanT &plan, std::uint64_t ranks, std::uint64_t limit, bool writesCheckpoints);

/// After the arenas were allocated and the threads started: an error if a limit of the address space (ulimit -v) leaves
/// no room for what a run of the plan still allocates. Libraries do not survive a failed allocation.
Status checkAddressSpace(const plan::PlanT &plan, std::uint64_t ranks);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_MACHINEMEMORY_H
