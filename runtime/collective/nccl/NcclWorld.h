//===- NcclWorld.h - ranks with a GPU each, connected by NCCL ------------------------------===//
//
// One object a rank. The ranks already know each other on the host (`host`: the rendezvous of
// runtime/collective/process, or threads); NCCL's id travels there, and whatever is compared between ranks. Groups are
// split off one communicator of all ranks, those alone that a plan uses. Reductions are `fixed`: by NCCL's version, its
// algorithm and the machine.
//
// Failures. Within a node NCCL reports no error when a peer dies: its kernels wait for ever. So a rank that waits for
// its streams also asks the host's world, which sees processes end (checkWait()). Each collective writes its number to
// pinned memory before it begins and 0 after it, issued or replayed from a graph; a wait during which no number changes
// for too long is a failure that names the collective. A second thread, every fifth of a second, asks NCCL for
// asynchronous errors, and ends the process where the rank's thread does not come back from a library after a failure.
//
// No communicator is aborted: ncclCommAbort waits for streams that other communicators block, and for the graphs that
// hold the communicator's collectives. After a failure communicators are left to the end of the process.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_NCCL_NCCLWORLD_H
#define SLUICE_RUNTIME_COLLECTIVE_NCCL_NCCLWORLD_H

#include "runtime/collective/DeviceWorld.h"

namespace sluice {

struct NcclOptions {
  /// Register the arena with every communicator (the recipe's collective.register).
  bool registers = true;
  /// Seconds that a rank waits for its peers in a collective; 0: for ever.
  double watchdogSeconds = 25;
  /// Seconds within which NCCL connects the ranks of a communicator; 0: for ever.
  double startSeconds = 60;
  /// Called on another thread where the rank's thread has not left the world within `graceSeconds` after a failure; it
  /// ends the process. Empty: nothing does.
  std::function<void(const Status &)> endProcess = {};
  double graceSeconds = 5;
};

/// Refuses where there is no NCCL, or one that is too old. NCCL itself is started at the first createForDevice().
Result<std::shared_ptr<DeviceWorld>> createNcclWorld(std::shared_ptr<World> host, int rank, const NcclOptions &options);

} // namespace sluice

#endif // SLUICE_RUNTIME_COLLECTIVE_NCCL_NCCLWORLD_H
