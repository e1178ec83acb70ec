//===- NcclWorld.h - ranks with a GPU each, joined by NCCL ------------------------------===//
//
// One object a rank. The ranks already know each other on the host (`host`: the rendezvous of runtime/collective/process, or
// threads); NCCL's id travels there, and whatever is compared between ranks. Groups are split off one communicator of all
// ranks, those alone that a plan uses. Reductions are `fixed`: by NCCL's version, its algorithm and the machine.
//
// A coalesced call is one group call. A watch, every fifth of a second, asks NCCL for errors that came later, and how long the
// last call of each communicator has been under way: too long, and all is aborted, with rank, instruction and unit named.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_NCCL_NCCLWORLD_H
#define SLUICE_RUNTIME_COLLECTIVE_NCCL_NCCLWORLD_H

#include "runtime/collective/DeviceWorld.h"

namespace sluice {

struct NcclOptions {
  /// Register the arena with every communicator (the recipe's collective.register).
  bool registers = true;
  /// Seconds that a call may take before the run is ended; 0: for ever.
  double watchdogSeconds = 25;
};

/// Refuses where there is no NCCL, or one that is too old. NCCL itself is started at the first createForDevice().
Result<std::shared_ptr<DeviceWorld>> createNcclWorld(std::shared_ptr<World> host, int rank, const NcclOptions &options);

} // namespace sluice

#endif // SLUICE_RUNTIME_COLLECTIVE_NCCL_NCCLWORLD_H
