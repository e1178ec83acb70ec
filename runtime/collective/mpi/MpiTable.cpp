//===- MpiTable.cpp - the functions of Open MPI, found at run time ----------------===//
#ifdef SLUICE_HAVE_MPI
#include "runtime/collective/mpi/MpiTable.h"

#include <dlfcn.h>

namespace sluice::mpi {

Result<MpiTable> MpiTable::open() {
  constexpr const char *name = "libmpi.so.40";
  // Global: Open MPI's own modules look for its symbols there.
  void *handle = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (!handle) {
    const char *why = dlerror();
    return failedError(std::string("the mpi communicator needs Open MPI 4, expected the library '") + name +
                       "' but it cannot be opened: " + (why ? why : "no reason given"));
  }
  MpiTable table(handle);
  if (!table.missing.empty())
    return failedError(std::string("library '") + name + "', expected Open MPI 4 but it has no symbol '" +
                       table.missing + "'");
  return table;
}

MpiTable::Symbol MpiTable::find(const char *symbol) {
  void *address = dlsym(library, symbol);
  if (!address && missing.empty())
    missing = symbol;
  return {address};
}

std::string MpiTable::errorText(int error) const {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  errorString(error, text, &length);
  return {text, static_cast<std::size_t>(length)};
}

} // namespace sluice::mpi

#endif // SLUICE_HAVE_MPI
