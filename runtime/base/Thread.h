//===- Thread.h - threads whose start may fail, and processors for them ---------------===//
#ifndef SLUICE_RUNTIME_BASE_THREAD_H
#define SLUICE_RUNTIME_BASE_THREAD_H

#include "runtime/base/Status.h"

#include <sched.h>
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

/// Processors on which this thread may run.
inline int usableProcessors() {
  cpu_set_t processors;
  return sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 1;
}

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_THREAD_H
