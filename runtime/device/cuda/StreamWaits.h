//===- StreamWaits.h - waits for streams that may never end ---------------------------===//
//
// A stream may wait for another process that has died. Where waits are watched none of them blocks in the driver: the
// stream is polled, and the watch between two polls. Its error ends the wait and abandons the device.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_DEVICE_CUDA_STREAMWAITS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_STREAMWAITS_H

#include "runtime/base/cuda/Table.h"
#include "runtime/device/cpu/FirstFailure.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

namespace sluice {

class StreamWaits {
public:
  using Clock = std::chrono::steady_clock;

  StreamWaits(const cuda::Table &table, FirstFailure &failure) : table(table), failure(failure) {}

  void watch(std::function<Status(Clock::time_point)> check) { watcher = std::move(check); }
  bool isAbandoned() const { return abandoned; }
  /// How long a wait may sleep between two polls.
  std::chrono::milliseconds pause() const { return std::chrono::milliseconds(watcher ? 10 : 100); }

  /// False after an error of the watch, which is kept as the device's failure.
  bool check(Clock::time_point since) {
    Status found = watcher ? watcher(since) : Status();
    if (found.isOk())
      return true;
    abandoned = true;
    failure.report(found);
    return false;
  }

  Status waitFor(cuda::Stream stream, const std::string &call) {
    if (abandoned)
      return failure.get();
    if (!watcher)
      return driverStatus(table, table.driver.streamSynchronize(stream), call);
    const Clock::time_point since = Clock::now();
    for (std::chrono::microseconds sleep(10);; sleep = std::min(2 * sleep, std::chrono::microseconds(1000))) {
      const cuda::Code code = table.driver.streamQuery(stream);
      if (code != cuda::notReady)
        return driverStatus(table, code, call);
      if (!check(since))
        return failure.get();
      std::this_thread::sleep_for(sleep);
    }
  }

private:
  const cuda::Table &table;
  FirstFailure &failure;
  std::function<Status(Clock::time_point)> watcher;
  bool abandoned = false;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_CUDA_STREAMWAITS_H
