//===- MpiLink.h - frames over MPI ------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_MPI_MPILINK_H
#define SLUICE_RUNTIME_COLLECTIVE_MPI_MPILINK_H

#include "runtime/collective/process/Link.h"

#include <functional>
#include <memory>

namespace sluice::mpi {

/// Why this build has no mpi communicator; empty where it has one.
std::string_view absence();

/// "Open MPI v4.1.4" of the library that begin() would open, or the reason for its absence.
Result<std::string> libraryVersion();

/// Limit of the time in which MPI starts: it waits for all processes, and may wait forever for one that was killed.
struct StartLimit {
  double seconds = 60;
  /// Called on a different thread if MPI has not started by then; it ends the process.
  std::function<void(const Status &)> endProcess;
};

/// Opens the library and initializes MPI, once per process.
Status begin(const StartLimit &limit = {});
/// This process among those that mpirun started. After begin().
int worldRank();
int worldSize();
/// Finalizes MPI; either every process calls it, or none.
void end();

/// A link between the first `size` processes; null where this process is none of them. Called by all processes.
Result<std::unique_ptr<process::Link>> createMpiLink(int size);

} // namespace sluice::mpi

#endif // SLUICE_RUNTIME_COLLECTIVE_MPI_MPILINK_H
