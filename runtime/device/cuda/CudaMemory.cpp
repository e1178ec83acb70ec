//===- CudaMemory.cpp - a rank's memory of a GPU, and what is pinned for it -------------===//
#include "runtime/device/cuda/CudaMemory.h"

#include <cstring>

namespace sluice {

static constexpr std::uint64_t border = 4096;

CudaMemory::~CudaMemory() {
  for (cuda::DevicePointer memory : deviceMemory)
    table.driver.release(memory);
  for (void *memory : hostMemory)
    table.driver.releaseHost(memory);
  for (void *memory : ncclMemory)
    table.nccl.memoryRelease(memory);
}

Result<void *> CudaMemory::allocate(MemorySpace space, std::uint64_t bytes, std::string_view purpose) {
  if (bytes == 0)
    return static_cast<void *>(nullptr);
  void *address = nullptr;
  Status status = space == MemorySpace::device ? allocateDevice(bytes, address) : allocateHost(bytes, address);
  return take(std::move(status), address, space, bytes, purpose);
}

Result<void *> CudaMemory::allocateForPeers(std::uint64_t bytes, std::string_view purpose) {
  if (bytes == 0)
    return static_cast<void *>(nullptr);
  void *address = nullptr;
  Status status = allocateByNccl(bytes, address);
  return take(std::move(status), address, MemorySpace::device, bytes, purpose);
}

Result<void *> CudaMemory::take(Status allocated, void *address, MemorySpace space, std::uint64_t bytes,
                                std::string_view purpose) {
  if (!allocated.isOk())
    return Status(StatusCode::failed, "cannot get " + std::to_string(bytes) + " bytes of " +
                                          (space == MemorySpace::device ? "device" : "host") + " memory for " +
                                          std::string(purpose) + ": " + allocated.message());
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

Status CudaMemory::allocateByNccl(std::uint64_t bytes, void *&address) {
  SLUICE_RETURN_IF_ERROR(checkFree(bytes));
  SLUICE_RETURN_IF_ERROR(cuda::ncclStatus(table.nccl.memoryAllocate(&address, bytes), "ncclMemAlloc"));
  ncclMemory.push_back(address);
  return clear(address, bytes);
}

/// One allocation; the driver's borders are finer for small ones.
Status CudaMemory::allocateDevice(std::uint64_t bytes, void *&address) {
  SLUICE_RETURN_IF_ERROR(checkFree(bytes));
  cuda::DevicePointer memory = 0;
  SLUICE_RETURN_IF_ERROR(check(table.driver.allocate(&memory, bytes), "cuMemAlloc"));
  if (memory % border != 0) {
    table.driver.release(memory);
    SLUICE_RETURN_IF_ERROR(check(table.driver.allocate(&memory, bytes + border), "cuMemAlloc"));
  }
  deviceMemory.push_back(memory);
  memory = (memory + border - 1) / border * border;
  address = reinterpret_cast<void *>(memory);
  return clear(address, bytes);
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
