//===- Call.h - calls from the C interface to C++ ------------------------------------------===//
//
// The functions of a C interface return statuses: the status of a function of C++, or of an exception that it throws.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CAPI_CALL_H
#define SLUICE_RUNTIME_CAPI_CALL_H

#include "runtime/base/Status.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::capi {

/// The base of a status of a C interface. Texts have no zero byte.
struct StatusHandle {
  explicit StatusHandle(Status given) : status(std::move(given)) {}
  Status status;
};

/// The status for which there is no memory; not freed. Constructed when the library is loaded, because its text needs
/// memory; without memory at that time the process ends.
// NOLINTNEXTLINE(bugprone-throwing-static-initialization)
template <typename Handle> inline Handle outOfMemoryHandle{failedError("there is not enough memory")};
template <typename Handle> Handle *outOfMemory() { return &outOfMemoryHandle<Handle>; }

/// Null for an ok status.
template <typename Handle> Handle *toHandle(Status status) {
  return status.isOk() ? nullptr : new Handle(std::move(status));
}

/// The status of `function()`, or of its exception.
template <typename Handle, typename Function> Handle *call(Function &&function) noexcept {
  try {
    try {
      return toHandle<Handle>(function());
    } catch (const std::bad_alloc &) {
      return outOfMemory<Handle>();
    } catch (const std::exception &error) {
      return toHandle<Handle>(internalError(std::string("unexpected exception, please report it: ") + error.what()));
    } catch (...) {
      return toHandle<Handle>(internalError("unexpected exception, please report it"));
    }
  } catch (...) {
    return outOfMemory<Handle>();
  }
}

template <typename Handle> void freeStatus(Handle *handle) {
  if (handle != outOfMemory<Handle>())
    delete handle;
}

/// A usage error if the argument is null.
template <typename T> Status checkArgument(const T *argument, const char *name) {
  return argument ? Status::ok() : Status(StatusCode::usage, std::string("argument '") + name + "' is NULL");
}

/// The same for several.
inline Status checkArguments(std::initializer_list<std::pair<const void *, const char *>> arguments) {
  for (const auto &[argument, name] : arguments)
    SLUICE_RETURN_IF_ERROR(checkArgument(argument, name));
  return Status::ok();
}

inline std::string_view textOf(const char *text) { return text ? std::string_view(text) : std::string_view(); }

/// A copy for free().
inline Status copyText(std::string_view text, char **copy) {
  auto *memory = static_cast<char *>(std::malloc(text.size() + 1));
  if (!memory)
    throw std::bad_alloc();
  std::memcpy(memory, text.data(), text.size());
  memory[text.size()] = '\0';
  *copy = memory;
  return Status::ok();
}

} // namespace sluice::capi

#endif // SLUICE_RUNTIME_CAPI_CALL_H
