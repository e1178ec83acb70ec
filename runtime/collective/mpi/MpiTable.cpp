//===- MpiTable.cpp - the functions of Open MPI, found at run time ----------------===//
#ifdef SLUICE_HAVE_MPI
#include "runtime/collective/mpi/MpiTable.h"

#include <dlfcn.h>

namespace sluice::mpi {

Result<MpiTable> MpiTable::open(const std::string &library) {
  const std::string name = library.empty() ? "libmpi.so.40" : library;
  // Global: Open MPI's own modules look for its symbols there.
  void *handle = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle) {
    const char *why = dlerror();
    return failedError("the mpi communicator needs Open MPI 4, expected the library '" + name +
                       "' but it cannot be opened: " + (why ? why : "no reason given"));
  }
  MpiTable table;
  std::string missing;
  const auto find = [&](auto &entry, const char *symbol) {
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(dlsym(handle, symbol));
    if (!entry && missing.empty())
      missing = symbol;
  };
  find(table.initialized, "MPI_Initialized");
  find(table.initThread, "MPI_Init_thread");
  find(table.finalize, "MPI_Finalize");
  find(table.commRank, "MPI_Comm_rank");
  find(table.commSize, "MPI_Comm_size");
  find(table.commSplit, "MPI_Comm_split");
  find(table.commFree, "MPI_Comm_free");
  find(table.setErrorHandler, "MPI_Comm_set_errhandler");
  find(table.isend, "MPI_Isend");
  find(table.irecv, "MPI_Irecv");
  find(table.test, "MPI_Test");
  find(table.cancel, "MPI_Cancel");
  find(table.getCount, "MPI_Get_count");
  find(table.errorString, "MPI_Error_string");
  find(table.world, "ompi_mpi_comm_world");
  find(table.noComm, "ompi_mpi_comm_null");
  find(table.byte, "ompi_mpi_byte");
  find(table.returnErrors, "ompi_mpi_errors_return");
  if (!missing.empty())
    return failedError("library '" + name + "', expected Open MPI 4 but it has no symbol '" + missing + "'");
  return table;
}

std::string MpiTable::errorText(int error) const {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  errorString(error, text, &length);
  return {text, static_cast<std::size_t>(length)};
}

} // namespace sluice::mpi

#endif // SLUICE_HAVE_MPI
