//===- CudaMemory.cpp - a rank's device memory and pinned memory ------------------------===//
#include "runtime/device/cuda/CudaMemory.h"

#include <cstring>

namespace sluice {

static constexpr std::uint64_t border = 4096;

CudaMemory::~CudaMemory() {
  for (void *memory : deviceMemory)
    table.driver.release(reinterpret_cast<cuda::DevicePointer>(memory));
  for (void *memory : hostMemory)
    table.driver.releaseHost(memory);
  for (void *memory : ncclMemory)
    table.nccl.memoryRelease(memory);
}

Result<void *> CudaMemory::allocate(MemorySpace space, std::uint64_t bytes, std::string_view purpose, bool isForPeers) {
  if (bytes == 0)
    return static_cast<void *>(nullptr);
  void *address = nullptr;
  Status status = isForPeers                     ? allocateByNccl(bytes, address)
                  : space == MemorySpace::device ? allocateDevice(bytes, address)
                                                 : allocateHost(bytes, address);
  if (!status.isOk())
    return failedError("cannot get " + std::to_string(bytes) + " bytes of " +
                       (space == MemorySpace::device ? "device" : "host") + " memory for " + std::string(purpose) +
                       ": " + status.message());
  requested[static_cast<std::size_t>(space)] += bytes;
  return address;
}

Status CudaMemory::checkFree(std::uint64_t bytes) const {
  std::size_t free = 0, total = 0;
  SLUICE_RETURN_IF_ERROR(check(table.driver.memoryInfo(&free, &total), "cuMemGetInfo"));
  return bytes > free
             ? failedError("the device has " + std::to_string(free) + " of " + std::to_string(total) + " bytes free")
             : Status();
}

Status CudaMemory::clear(void *address, std::uint64_t bytes) const {
  SLUICE_RETURN_IF_ERROR(
      check(table.driver.fill8(reinterpret_cast<cuda::DevicePointer>(address), 0, bytes, idle), "cuMemsetD8Async"));
  return check(table.driver.streamSynchronize(idle), "cuStreamSynchronize");
}

/// One allocation. The driver aligns small ones less than plans require; so does NCCL without the virtual memory API.
template <typename Get, typename Give>
Status CudaMemory::allocateAligned(std::uint64_t bytes, void *&address, std::vector<void *> &kept, Get get, Give give) {
  SLUICE_RETURN_IF_ERROR(checkFree(bytes));
  void *memory = nullptr;
  SLUICE_RETURN_IF_ERROR(get(memory, bytes));
  if (reinterpret_cast<std::uintptr_t>(memory) % border != 0) {
    give(memory);
    SLUICE_RETURN_IF_ERROR(get(memory, bytes + border));
  }
  kept.push_back(memory);
  address = reinterpret_cast<void *>((reinterpret_cast<std::uintptr_t>(memory) + border - 1) / border * border);
  return clear(address, bytes);
}

Status CudaMemory::allocateByNccl(std::uint64_t bytes, void *&address) {
  const auto get = [&](void *&memory, std::uint64_t size) {
    return cuda::ncclStatus(table.nccl.memoryAllocate(&memory, size), "ncclMemAlloc");
  };
  return allocateAligned(bytes, address, ncclMemory, get, [&](void *memory) { table.nccl.memoryRelease(memory); });
}

Status CudaMemory::allocateDevice(std::uint64_t bytes, void *&address) {
  const auto get = [&](void *&memory, std::uint64_t size) {
    cuda::DevicePointer made = 0;
    Status status = check(table.driver.allocate(&made, size), "cuMemAlloc");
    memory = reinterpret_cast<void *>(made);
    return status;
  };
  return allocateAligned(bytes, address, deviceMemory, get,
                         [&](void *memory) { table.driver.release(reinterpret_cast<cuda::DevicePointer>(memory)); });
}

Status CudaMemory::allocateHost(std::uint64_t bytes, void *&address) {
  SLUICE_RETURN_IF_ERROR(check(table.driver.allocateHost(&address, bytes, cuda::hostAllocPortable), "cuMemHostAlloc"));
  hostMemory.push_back(address);
  std::memset(address, 0, bytes);
  return {};
}

Status fillMemory(const cuda::Table &table, cuda::Stream nativeStream, void *to, const void *pattern,
                  std::uint32_t elementBytes, std::uint64_t count) {
  if (count == 0)
    return {};
  std::uint32_t word[2] = {};
  std::memcpy(word, pattern, elementBytes);
  const cuda::DevicePointer at = reinterpret_cast<cuda::DevicePointer>(to);
  const cuda::Driver &driver = table.driver;
  switch (elementBytes) {
  case 1:
    return driverStatus(table, driver.fill8(at, static_cast<unsigned char>(word[0]), count, nativeStream),
                        "cuMemsetD8Async");
  case 2:
    return driverStatus(table, driver.fill16(at, static_cast<unsigned short>(word[0]), count, nativeStream),
                        "cuMemsetD16Async");
  case 4:
    return driverStatus(table, driver.fill32(at, word[0], count, nativeStream), "cuMemsetD32Async");
  case 8:
    // The lower and the upper halves, as columns eight bytes apart.
    for (int half = 0; half < 2; ++half)
      SLUICE_RETURN_IF_ERROR(driverStatus(
          table, driver.fillRows32(at + half * 4, 8, word[half], 1, count, nativeStream), "cuMemsetD2D32Async"));
    return {};
  default:
    return internalError("a fill of elements of " + std::to_string(elementBytes) + " bytes");
  }
}

} // namespace sluice
