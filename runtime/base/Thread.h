//===- Thread.h - threads whose start may fail --------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_THREAD_H
#define SLUICE_RUNTIME_BASE_THREAD_H

#include "runtime/base/Status.h"

#include <system_error>
#include <thread>

namespace sluice {

/// Runs `body` on a new thread; `name` is for the error.
template <typename Body> Status startThread(std::thread &thread, const std::string &name, Body body) {
  try {
    thread = std::thread(std::move(body));
  } catch (const std::system_error &error) {
    return failedError("cannot start the thread of " + name + ": " + error.what());
  }
  return {};
}

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_THREAD_H
