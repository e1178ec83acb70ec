//===- MpiTable.h - the functions of Open MPI, found at run time ------------------===//
//
// The library is opened when a launcher of MPI has started the process, and not before: nothing that runs without it
// needs it, or pays for it. Compiled against Open MPI's header, so it is Open MPI that must be found.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_MPI_MPITABLE_H
#define SLUICE_RUNTIME_COLLECTIVE_MPI_MPITABLE_H

#include "runtime/base/Status.h"

// Only the C interface.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

namespace sluice::mpi {

struct MpiTable {
  decltype(&MPI_Initialized) initialized = nullptr;
  decltype(&MPI_Init_thread) initThread = nullptr;
  decltype(&MPI_Finalize) finalize = nullptr;
  decltype(&MPI_Comm_rank) commRank = nullptr;
  decltype(&MPI_Comm_size) commSize = nullptr;
  decltype(&MPI_Comm_split) commSplit = nullptr;
  decltype(&MPI_Comm_free) commFree = nullptr;
  decltype(&MPI_Comm_set_errhandler) setErrorHandler = nullptr;
  decltype(&MPI_Isend) isend = nullptr;
  decltype(&MPI_Irecv) irecv = nullptr;
  decltype(&MPI_Test) test = nullptr;
  decltype(&MPI_Cancel) cancel = nullptr;
  decltype(&MPI_Get_count) getCount = nullptr;
  decltype(&MPI_Error_string) errorString = nullptr;
  /// The library's global objects: names in the header are macros for their addresses.
  MPI_Comm world = nullptr;
  MPI_Comm noComm = nullptr;
  MPI_Datatype byte = nullptr;
  MPI_Errhandler returnErrors = nullptr;

  /// Opens `library` (empty: Open MPI's usual name) and finds all functions; an error names the missing one.
  static Result<MpiTable> open(const std::string &library = {});
  /// The text of an error code.
  std::string errorText(int error) const;
};

} // namespace sluice::mpi

#endif // SLUICE_RUNTIME_COLLECTIVE_MPI_MPITABLE_H
