//===- CpuEvents.h - events between the streams of a CPU device ----------------===//
//
// An event is a counter of generations. Issuing a record opens the next generation; the stream that reaches the record
// completes it. A wait is for the generation that was the latest when the wait was issued, so recording an event again
// never disturbs waits issued before. Generations of one event complete in order, whatever streams they stand on.
//
// openGeneration() and latest() are called by the rank's thread alone, the others by stream threads, and await() by the
// rank's as well.
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
  /// Touched by the rank's thread alone.
  std::vector<std::uint64_t> issued;
  std::vector<std::uint64_t> completed;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_CPU_CPUEVENTS_H
