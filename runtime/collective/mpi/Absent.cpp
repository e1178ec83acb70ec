//===- Absent.cpp - a build without MPI ------------------------------------------===//
#ifndef SLUICE_HAVE_MPI
#include "runtime/collective/mpi/MpiLink.h"

namespace sluice::mpi {

std::string_view absence() {
  return "this build has no mpi communicator: Open MPI's mpi.h was not found when it was configured";
}
Result<std::string> libraryVersion() { return failedError(std::string(absence())); }
Status begin(const StartLimit &) { return failedError(std::string(absence())); }
int worldRank() { return 0; }
int worldSize() { return 1; }
void end() {}
Result<std::unique_ptr<process::Link>> createMpiLink(int) { return failedError(std::string(absence())); }

} // namespace sluice::mpi

#endif // SLUICE_HAVE_MPI
