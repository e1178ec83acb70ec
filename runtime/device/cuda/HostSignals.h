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
  struct Notification {
    HostSignals *signals = nullptr;
    std::size_t index = 0;
    static void send(void *argument) {
      const auto *of = static_cast<const Notification *>(argument);
      of->signals->receive(of->index);
    }
  };

  /// Once, before the first notification is requested: notifications keep their addresses.
  void resize(std::size_t count) {
    expected.resize(count);
    received.resize(count);
    notifications.resize(count);
    for (std::size_t i = 0; i < count; ++i)
      notifications[i] = {this, i};
  }
  Notification &notificationOf(EventId event) { return notifications[event]; }
  void expect(EventId event) { ++expected[event]; }

  /// False without a notification within `timeout`.
  bool await(EventId event, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, timeout, [&] { return received[event] >= expected[event]; });
  }

private:
  void receive(std::size_t index) {
    std::lock_guard lock(mutex);
    ++received[index];
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  /// Used only by the rank's thread.
  std::vector<std::uint64_t> expected;
  std::vector<std::uint64_t> received;
  std::vector<Notification> notifications;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_CUDA_HOSTSIGNALS_H
