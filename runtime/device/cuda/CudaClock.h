//===- CudaClock.h - times of a GPU's streams, by events -------------------------------===//
#ifndef SLUICE_RUNTIME_DEVICE_CUDA_CUDACLOCK_H
#define SLUICE_RUNTIME_DEVICE_CUDA_CUDACLOCK_H

#include "runtime/base/cuda/Table.h"
#include "runtime/device/StreamClock.h"

#include <vector>

namespace sluice {

/// Events with times, reused for later marks. The first mark relates the device's time to the steady clock, on an idle
/// stream. Not for work that is captured into a graph: its events have no times.
class CudaClock final : public StreamClock {
public:
  CudaClock(const cuda::Table &table, cuda::Stream idle) : table(table), idle(idle) {}
  /// In the device's context.
  ~CudaClock() override;
  CudaClock(const CudaClock &) = delete;
  CudaClock &operator=(const CudaClock &) = delete;

  Result<std::uint32_t> mark(void *nativeStream) override;
  Result<std::int64_t> timeOf(std::uint32_t mark) const override;
  void restart() override { used = 0; }

private:
  Status start();

  const cuda::Table &table;
  const cuda::Stream idle;
  cuda::Event base = nullptr;
  std::int64_t baseTime = 0;
  std::vector<cuda::Event> events;
  std::size_t used = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_CUDA_CUDACLOCK_H
