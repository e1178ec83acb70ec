//===- CudaClock.cpp - times of a GPU's streams, by events -------------------------------===//
#include "runtime/device/cuda/CudaClock.h"

#include <chrono>

namespace sluice {

CudaClock::~CudaClock() {
  for (cuda::Event event : events)
    table.driver.eventDestroy(event);
  if (base)
    table.driver.eventDestroy(base);
}

/// Runs at each restart, because intervals are in single precision: a microsecond after sixteen seconds.
Status CudaClock::start() {
  const cuda::Driver &driver = table.driver;
  if (!base)
    SLUICE_RETURN_IF_ERROR(driverStatus(table, driver.eventCreate(&base, cuda::eventDefault), "cuEventCreate"));
  const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); };
  // The event's time is between two times of the host. Repeat if another program had the processor in between.
  constexpr int attempts = 8;
  constexpr std::int64_t near = 500000;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const std::int64_t first = now();
    SLUICE_RETURN_IF_ERROR(driverStatus(table, driver.eventRecord(base, idle), "cuEventRecord"));
    SLUICE_RETURN_IF_ERROR(driverStatus(table, driver.streamSynchronize(idle), "cuStreamSynchronize"));
    const std::int64_t last = now();
    baseTime = first + (last - first) / 2;
    if (last - first <= near)
      break;
  }
  return {};
}

Result<std::uint32_t> CudaClock::mark(void *nativeStream) {
  if (used == 0)
    SLUICE_RETURN_IF_ERROR(start());
  if (used == events.size()) {
    cuda::Event event = nullptr;
    SLUICE_RETURN_IF_ERROR(driverStatus(table, table.driver.eventCreate(&event, cuda::eventDefault), "cuEventCreate"));
    events.push_back(event);
  }
  SLUICE_RETURN_IF_ERROR(driverStatus(table, table.driver.eventRecord(events[used], nativeStream), "cuEventRecord"));
  return static_cast<std::uint32_t>(used++);
}

Result<std::int64_t> CudaClock::timeOf(std::uint32_t mark) const {
  float milliseconds = 0;
  SLUICE_RETURN_IF_ERROR(
      driverStatus(table, table.driver.eventElapsed(&milliseconds, base, events[mark]), "cuEventElapsedTime"));
  return baseTime + static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
}

} // namespace sluice
