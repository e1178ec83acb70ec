//===- HostSignals.h - what streams of a GPU tell the host ---------------------------===//
//
// For each event how often the host expects a stream to come to it, and how often one has. A stream tells by a host
// function: unlike an event it also tells once a replay of a graph, and the host knows which telling it waits for.
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
  /// What a host function is given.
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

  /// False where it has not been told within `patience`.
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
