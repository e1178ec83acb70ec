//===- CpuEvents.h - events between the streams of a CPU device ----------------===//
//
// An event is a counter of generations. Issuing a record opens the next generation; the stream that reaches the record
// completes it. A wait is for the latest generation at the time when the wait was issued, so a later record never
// affects earlier waits. Generations of one event complete in order, on whatever streams they are recorded.
//
// Only the rank's thread calls openGeneration() and latest(), stream threads call the others, and the rank's thread
// also calls await().
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_DEVICE_CPU_CPUEVENTS_H
#define SLUICE_RUNTIME_DEVICE_CPU_CPUEVENTS_H

#include "runtime/device/Device.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace sluice {

class CpuEvents {
public:
  void resize(std::uint32_t count) {
    issued.resize(count);
    completed.resize(count);
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(issued.size()); }

  std::uint64_t openGeneration(EventId event) { return ++issued[event]; }
  std::uint64_t latest(EventId event) const { return issued[event]; }

  void complete(EventId event, std::uint64_t generation) {
    std::unique_lock lock(mutex);
    block(lock, event, generation - 1);
    completed[event] = generation;
    if (waiting != 0)
      changed.notify_all();
  }

  void await(EventId event, std::uint64_t generation) {
    std::unique_lock lock(mutex);
    block(lock, event, generation);
  }

private:
  void block(std::unique_lock<std::mutex> &lock, EventId event, std::uint64_t generation) {
    if (completed[event] >= generation)
      return;
    ++waiting;
    changed.wait(lock, [&] { return completed[event] >= generation; });
    --waiting;
  }

  std::mutex mutex;
  std::condition_variable changed;
  int waiting = 0;
  /// Used only by the rank's thread.
  std::vector<std::uint64_t> issued;
  std::vector<std::uint64_t> completed;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_CPU_CPUEVENTS_H
