//===- NcclWorld.h - ranks with a GPU each, connected by NCCL ------------------------------===//
//
// One object per rank. `host` connects the ranks on the host (processes or threads); it transfers NCCL's id and all
// values that ranks compare. The groups that a plan uses are split from one communicator of all ranks. Reductions are
// `fixed`: by NCCL's version, its algorithm and the machine.
//
// Failures. Within a node NCCL reports no error when a peer dies: its kernels wait forever. A rank that waits for its
// streams therefore also checks the host's world, which notices that a process has ended (checkWait()). Each collective
// writes its number to pinned memory before it begins and 0 after it, issued or replayed from a graph; a wait during
// which no number changes for too long is a failure that names the collective. A second thread checks NCCL for
// asynchronous errors every fifth of a second, and ends the process if the rank's thread does not return from a library
// after a failure.
//
// No communicator is aborted: ncclCommAbort waits for streams that other communicators block, and for the graphs that
// hold the communicator's collectives. After a failure the end of the process frees the communicators.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_NCCL_NCCLWORLD_H
#define SLUICE_RUNTIME_COLLECTIVE_NCCL_NCCLWORLD_H

#include "runtime/collective/DeviceWorld.h"

namespace sluice {

struct NcclOptions {
  /// Register the arena with every communicator (the recipe's collective.register).
  bool registers = true;
  /// Most CTAs of a kernel (the recipe's collective.max_ctas); 0: NCCL's choice.
  std::uint32_t maxCtas = 0;
  /// Gathers within a node by copy engines (the recipe's collective.copy_engines).
  bool copyEngines = false;
  /// Seconds that a rank waits for its peers in a collective; 0: no limit.
  double watchdogSeconds = 25;
  /// Seconds within which NCCL connects the ranks of a communicator; 0: no limit.
  double startSeconds = 60;
  /// Ends the process. Called on another thread if the rank's thread has not left the world within `graceSeconds` after
  /// a failure. Empty: the process is not ended.
  std::function<void(const Status &)> endProcess = {};
  double graceSeconds = 5;
};

/// Refused if NCCL is missing or too old. The first createForDevice() starts NCCL.
Result<std::shared_ptr<DeviceWorld>> createNcclWorld(std::shared_ptr<World> host, int rank, const NcclOptions &options);

} // namespace sluice

#endif // SLUICE_RUNTIME_COLLECTIVE_NCCL_NCCLWORLD_H
