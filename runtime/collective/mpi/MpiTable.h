//===- MpiTable.h - the functions of Open MPI, found at run time ------------------===//
//
// The library is opened when a launcher of MPI has started the process, so that other processes do not need it. The
// code is compiled against Open MPI's header, so the library must be Open MPI's.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_MPI_MPITABLE_H
#define SLUICE_RUNTIME_COLLECTIVE_MPI_MPITABLE_H

#include "runtime/base/Status.h"

// Only the C interface.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

namespace sluice::mpi {

class MpiTable {
  void *library;
  /// The first symbol that the library does not have.
  std::string missing;

public:
  decltype(&MPI_Init_thread) initThread = find("MPI_Init_thread");
  decltype(&MPI_Finalize) finalize = find("MPI_Finalize");
  decltype(&MPI_Comm_rank) commRank = find("MPI_Comm_rank");
  decltype(&MPI_Comm_size) commSize = find("MPI_Comm_size");
  decltype(&MPI_Comm_split) commSplit = find("MPI_Comm_split");
  decltype(&MPI_Comm_free) commFree = find("MPI_Comm_free");
  decltype(&MPI_Comm_set_errhandler) setErrorHandler = find("MPI_Comm_set_errhandler");
  decltype(&MPI_Isend) isend = find("MPI_Isend");
  decltype(&MPI_Irecv) irecv = find("MPI_Irecv");
  decltype(&MPI_Test) test = find("MPI_Test");
  decltype(&MPI_Cancel) cancel = find("MPI_Cancel");
  decltype(&MPI_Get_count) getCount = find("MPI_Get_count");
  decltype(&MPI_Error_string) errorString = find("MPI_Error_string");
  decltype(&MPI_Get_library_version) getLibraryVersion = find("MPI_Get_library_version");
  /// The library's global objects: names in the header are macros for their addresses.
  MPI_Comm world = find("ompi_mpi_comm_world");
  MPI_Comm noComm = find("ompi_mpi_comm_null");
  MPI_Datatype byte = find("ompi_mpi_byte");
  MPI_Errhandler returnErrors = find("ompi_mpi_errors_return");

  /// Opens Open MPI's library and finds all functions; an error names the missing one.
  static Result<MpiTable> open();
  /// The text of an error code.
  std::string errorText(int error) const;

private:
  explicit MpiTable(void *library) : library(library) {}
  struct Symbol {
    void *address;
    template <typename Pointer> operator Pointer() const { return reinterpret_cast<Pointer>(address); }
  };
  Symbol find(const char *symbol);
};

} // namespace sluice::mpi

#endif // SLUICE_RUNTIME_COLLECTIVE_MPI_MPITABLE_H
