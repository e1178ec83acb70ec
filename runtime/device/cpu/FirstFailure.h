//===- FirstFailure.h - the failure that all streams of a device share ---------===//
//
// Keeps the first failure reported by any thread until it is taken. known() costs one atomic load, so it can be called
// before every command.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_DEVICE_CPU_FIRSTFAILURE_H
#define SLUICE_RUNTIME_DEVICE_CPU_FIRSTFAILURE_H

#include "runtime/base/Status.h"

#include <atomic>
#include <mutex>
#include <utility>

namespace sluice {

class FirstFailure {
public:
  bool known() const { return flag.load(std::memory_order_acquire); }

  void report(Status status) {
    std::lock_guard lock(mutex);
    if (!first.isOk())
      return;
    first = std::move(status);
    flag.store(true, std::memory_order_release);
  }

  /// The failure, kept.
  Status get() const {
    if (!known())
      return {};
    std::lock_guard lock(mutex);
    return first;
  }

  /// The failure, forgotten.
  Status take() {
    if (!known())
      return {};
    std::lock_guard lock(mutex);
    flag.store(false, std::memory_order_release);
    return std::exchange(first, Status());
  }

private:
  mutable std::mutex mutex;
  std::atomic<bool> flag = false;
  Status first;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_CPU_FIRSTFAILURE_H
