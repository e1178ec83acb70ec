//===- Launch.h - one process per rank, as a launcher has started them -----------===//
//
// mpirun, torchrun and srun give each process its rank in environment variables. These functions read them and create
// the world.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_LAUNCH_LAUNCH_H
#define SLUICE_RUNTIME_COLLECTIVE_LAUNCH_LAUNCH_H

#include "runtime/collective/Communicator.h"

#include <optional>

namespace sluice {

enum class Transport : std::uint8_t { mpi, socket };

struct Launch {
  Transport transport = Transport::socket;
  /// "mpirun", "torchrun", "srun": for messages.
  std::string launcher;
  int rank = 0;
  int size = 1;
  /// True where all processes are on this machine.
  bool oneMachine = false;
  /// Address of rank 0; only for sockets.
  std::string address;
  std::uint16_t port = 0;
};

struct LaunchOptions {
  /// "auto" (by the environment), "local" (all ranks in this process), "mpi", "socket".
  std::string communicator = "auto";
  /// Address at which this process may listen; empty: only loopback.
  std::string listen;
  /// File with the secret of the ranks, for sockets; empty: that of the user, for ranks on one machine.
  std::string secretFile;
  /// Seconds that the processes wait for each other at the start.
  double joinSeconds = 60;
  /// Ends the process with an error if MPI waits longer than that; called on a different thread. Empty: no limit.
  std::function<void(const Status &)> endProcess = {};
  /// See ProcessWorldOptions.
  double watchdogSeconds = 25;
};

/// The value of an environment variable; null if it is not set.
using Environment = std::function<const char *(const char *name)>;

/// The launcher's variables; nullopt without a launcher, or if all ranks run in this process.
Result<std::optional<Launch>> readLaunch(const Environment &environment, const LaunchOptions &options);

/// Connects to the other processes. The last owner of the world ends it and waits for the others.
Result<std::shared_ptr<World>> openWorld(const Launch &launch, const LaunchOptions &options);

} // namespace sluice

#endif // SLUICE_RUNTIME_COLLECTIVE_LAUNCH_LAUNCH_H
