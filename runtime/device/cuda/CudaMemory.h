//===- CudaMemory.h - a rank's device memory and pinned memory --------------------------===//
#ifndef SLUICE_RUNTIME_DEVICE_CUDA_CUDAMEMORY_H
#define SLUICE_RUNTIME_DEVICE_CUDA_CUDAMEMORY_H

#include "runtime/base/cuda/Table.h"
#include "runtime/device/Device.h"

#include <array>
#include <vector>

namespace sluice {

/// Allocations of zeros with the alignment of plans, freed together by the destructor. Called in the device's context.
class CudaMemory {
public:
  CudaMemory(const cuda::Table &table, cuda::Stream idle) : table(table), idle(idle) {}
  ~CudaMemory();
  CudaMemory(const CudaMemory &) = delete;
  CudaMemory &operator=(const CudaMemory &) = delete;

  /// Null for no bytes. Device memory for peers is from NCCL, which uses the virtual memory API with handles that it
  /// can share; memory of cuMemAlloc has none.
  Result<void *> allocate(MemorySpace space, std::uint64_t bytes, std::string_view purpose, bool isForPeers = false);
  /// Requested bytes, without those for alignment.
  std::uint64_t allocatedBytes(MemorySpace space) const { return requested[static_cast<std::size_t>(space)]; }

private:
  Status check(cuda::Code code, std::string_view call) const { return driverStatus(table, code, call); }
  Status checkFree(std::uint64_t bytes) const;
  Status allocateDevice(std::uint64_t bytes, void *&address);
  Status allocateByNccl(std::uint64_t bytes, void *&address);
  template <typename Get, typename Give>
  Status allocateAligned(std::uint64_t bytes, void *&address, std::vector<void *> &kept, Get get, Give give);
  Status clear(void *address, std::uint64_t bytes) const;
  Status allocateHost(std::uint64_t bytes, void *&address);

  const cuda::Table &table;
  const cuda::Stream idle;
  std::vector<void *> deviceMemory, hostMemory, ncclMemory;
  std::array<std::uint64_t, 2> requested{};
};

/// `count` elements of 1, 2, 4 or 8 bytes of that pattern, on the stream.
Status fillMemory(const cuda::Table &table, cuda::Stream stream, void *to, const void *pattern,
                  std::uint32_t elementBytes, std::uint64_t count);

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_CUDA_CUDAMEMORY_H
