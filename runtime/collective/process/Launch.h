//===- Launch.h - one process per rank, as a launcher has started them -----------===//
//
// mpirun, torchrun and srun tell each process who it is by environment variables. This reads them, and makes the world.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_PROCESS_LAUNCH_H
#define SLUICE_RUNTIME_COLLECTIVE_PROCESS_LAUNCH_H

#include "runtime/collective/Communicator.h"

#include <atomic>
#include <optional>

namespace sluice {

enum class Carrier : std::uint8_t { mpi, socket };

struct Launch {
  Carrier carrier = Carrier::socket;
  /// "mpirun", "torchrun", "srun": for messages.
  std::string launcher;
  int rank = 0;
  int size = 1;
  /// True where all processes are on this machine.
  bool oneMachine = false;
  /// Where rank 0 is found; socket alone.
  std::string address;
  std::uint16_t port = 0;
};

struct LaunchOptions {
  /// "auto" (by the environment), "local" (all ranks in this process), "mpi", "socket".
  std::string communicator = "auto";
  /// Where this process may listen beyond loopback; empty: nowhere.
  std::string listen;
  /// How long the processes wait for each other at the start.
  double joinSeconds = 60;
  /// See ProcessWorldOptions.
  double watchdogSeconds = 25;
  const std::atomic<bool> *terminated = nullptr;
};

/// The value of an environment variable; null where it is not set.
using Environment = std::function<const char *(const char *name)>;

/// What the launcher says; none where there is no launcher, or all ranks shall be in this process.
Result<std::optional<Launch>> readLaunch(const Environment &environment, const LaunchOptions &options);

/// Meets the other processes. The last owner ends the world: it waits for the others.
Result<std::shared_ptr<World>> openWorld(const Launch &launch, const LaunchOptions &options);

} // namespace sluice

#endif // SLUICE_RUNTIME_COLLECTIVE_PROCESS_LAUNCH_H
