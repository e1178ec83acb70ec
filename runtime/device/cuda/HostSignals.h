//===- HostSignals.h - notifications of the host by streams of a GPU ------------------===//
//
// Counts for each event how many notifications the host expects and how many it has received. A stream notifies by a
// host function, because the replay of a graph gives an event no new record that the host could distinguish.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_DEVICE_CUDA_HOSTSIGNALS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_HOSTSIGNALS_H

#include "runtime/device/Device.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace sluice {

class HostSignals {
public:
  /// The argument of a host function.
  struct Bell {
    HostSignals *signals = nullptr;
    std::size_t index = 0;
    static void ring(void *bell) {
      const auto *of = static_cast<const Bell *>(bell);
      of->signals->tell(of->index);
    }
  };

  /// Once, before the first bell is taken: bells are at fixed places.
  void resize(std::size_t count) {
    expected.resize(count);
    told.resize(count);
    bells.resize(count);
    for (std::size_t i = 0; i < count; ++i)
      bells[i] = {this, i};
  }
  Bell &bell(EventId event) { return bells[event]; }
  void expect(EventId event) { ++expected[event]; }

  /// False without a notification within `patience`.
  bool await(EventId event, std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, patience, [&] { return told[event] >= expected[event]; });
  }

private:
  void tell(std::size_t index) {
    std::lock_guard lock(mutex);
    ++told[index];
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  /// Touched by the rank's thread alone.
  std::vector<std::uint64_t> expected;
  std::vector<std::uint64_t> told;
  std::vector<Bell> bells;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_CUDA_HOSTSIGNALS_H
