//===- FakeMemory.cpp - memory of the emulated GPU, and copies ---------------------------===//
#include "test/cuda/FakeState.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace sluice::test {
namespace {

using namespace cuda;

constexpr std::uint64_t page = 4096;

/// If nothing is executed, memory of any size is only addresses; else it contains a pattern.
char *reserve(std::uint64_t bytes) {
  if (!state->options.recordsOnly) {
    char *made = static_cast<char *>(std::aligned_alloc(page, bytes));
    std::memset(made, 0xa5, bytes);
    return made;
  }
  void *made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made == MAP_FAILED ? nullptr : static_cast<char *>(made);
}

void release(char *base, std::uint64_t bytes) {
  if (state->options.recordsOnly)
    munmap(base, bytes);
  else
    std::free(base);
}

/// Like the driver: device memory is aligned to 256 bytes, pinned memory to a page.
std::uint64_t lead(const FakeCuda::Memory &memory) {
  return memory.pinned || (memory.isShareable && !state->options.ncclWithoutHandles) ? 0 : 256;
}
std::uint64_t wholePages(const FakeCuda::Memory &memory) {
  return (memory.bytes + lead(memory) + page - 1) / page * page;
}

Code allocate(std::byte *&address, FakeCuda::Memory memory) {
  char *base = reserve(wholePages(memory));
  if (!base)
    return outOfMemory;
  memory.address = address = reinterpret_cast<std::byte *>(base + lead(memory));
  std::lock_guard lock(state->mutex);
  state->memory.push_back(memory);
  return 0;
}

Code free(const void *address, bool pinned, bool isShareable, const char *call) {
  std::lock_guard lock(state->mutex);
  const auto found = std::ranges::find_if(state->memory, [&](const FakeCuda::Memory &memory) {
    return memory.address == address && memory.pinned == pinned && memory.isShareable == isShareable;
  });
  if (found == state->memory.end())
    return complainLocked(std::string(call) + " of what was not allocated"), 1;
  release(reinterpret_cast<char *>(found->address) - lead(*found), wholePages(*found));
  state->memory.erase(found);
  return 0;
}

std::uint64_t bytesOf(bool pinned) {
  std::lock_guard lock(state->mutex);
  std::uint64_t bytes = 0;
  for (const FakeCuda::Memory &memory : state->memory)
    bytes += memory.pinned == pinned ? memory.bytes : 0;
  return bytes;
}

std::uint64_t freeBytes() {
  std::lock_guard lock(state->mutex);
  return freeBytesLocked();
}

/// Fills memory with elements of one type.
template <typename Element> Code fill(DevicePointer to, Element value, std::size_t count, Stream stream) {
  FakeCall call;
  call.kind = FakeCall::Kind::fill;
  call.addresses = {reinterpret_cast<void *>(to)};
  call.bytes = count * sizeof(Element);
  return fakeEnqueue(stream, std::move(call), [=] { std::fill_n(reinterpret_cast<Element *>(to), count, value); });
}

} // namespace

std::uint64_t freeBytesLocked() {
  std::uint64_t used = state->ncclBytes[currentDevice];
  for (const FakeCuda::Memory &memory : state->memory)
    used += !memory.pinned && memory.device == currentDevice ? memory.bytes : 0;
  return state->options.memory - std::min(used, state->options.memory);
}

void freeFakeMemory() {
  for (const FakeCuda::Memory &memory : state->memory)
    release(reinterpret_cast<char *>(memory.address) - lead(memory), wholePages(memory));
}

void fillFakeMemory(Driver &d) {
  d.memoryInfo = [](std::size_t *free, std::size_t *total) -> Code {
    *free = freeBytes();
    *total = state->options.memory;
    return checkContext("cuMemGetInfo");
  };
  d.allocate = [](DevicePointer *pointer, std::size_t bytes) -> Code {
    if (const Code code = checkContext("cuMemAlloc"))
      return code;
    if (bytes > freeBytes())
      return outOfMemory;
    std::byte *address = nullptr;
    const Code code = allocate(address, {nullptr, bytes, false, fakeCaller, currentDevice});
    *pointer = reinterpret_cast<DevicePointer>(address);
    return code;
  };
  d.release = [](DevicePointer pointer) -> Code {
    return free(reinterpret_cast<void *>(pointer), false, false, "cuMemFree");
  };
  d.allocateHost = [](void **pointer, std::size_t bytes, unsigned) -> Code {
    std::byte *address = nullptr;
    const Code code = allocate(address, {nullptr, bytes, true, fakeCaller, currentDevice});
    *pointer = address;
    return code;
  };
  d.releaseHost = [](void *pointer) -> Code { return free(pointer, true, false, "cuMemFreeHost"); };
  d.copy = [](DevicePointer to, DevicePointer from, std::size_t bytes, Stream stream) -> Code {
    FakeCall call;
    call.kind = FakeCall::Kind::copy;
    call.addresses = {reinterpret_cast<void *>(to), reinterpret_cast<void *>(from)};
    call.bytes = bytes;
    return fakeEnqueue(stream, std::move(call),
                       [=] { std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes); });
  };
  d.fill8 = [](DevicePointer to, unsigned char value, std::size_t count, Stream stream) -> Code {
    return fill(to, value, count, stream);
  };
  d.fill16 = [](DevicePointer to, unsigned short value, std::size_t count, Stream stream) -> Code {
    return fill(to, value, count, stream);
  };
  d.fill32 = [](DevicePointer to, unsigned value, std::size_t count, Stream stream) -> Code {
    return fill(to, value, count, stream);
  };
  d.fillRows32 = [](DevicePointer to, std::size_t pitch, unsigned value, std::size_t width, std::size_t height,
                    Stream stream) -> Code {
    FakeCall call;
    call.kind = FakeCall::Kind::fill;
    call.addresses = {reinterpret_cast<void *>(to)};
    call.bytes = width * height * 4;
    return fakeEnqueue(stream, std::move(call), [=] {
      for (std::size_t row = 0; row < height; ++row)
        std::fill_n(reinterpret_cast<unsigned *>(to + row * pitch), width, value);
    });
  };
}

Code allocateShareable(void **memory, std::size_t bytes) {
  if (bytes > freeBytes())
    return 1;
  std::byte *address = nullptr;
  const Code code = allocate(address, {nullptr, bytes, false, fakeCaller, currentDevice, true});
  *memory = address;
  return code;
}

Code releaseShareable(void *memory) { return free(memory, false, true, "ncclMemFree"); }

bool hasHandle(const void *memory, std::size_t bytes) {
  std::lock_guard lock(state->mutex);
  const auto *const begin = static_cast<const std::byte *>(memory);
  return std::ranges::any_of(state->memory, [&](const FakeCuda::Memory &one) {
    return one.isShareable && one.address <= begin && begin + bytes <= one.address + one.bytes;
  });
}

std::uint64_t FakeCuda::allocatedBytes() { return bytesOf(false); }
std::uint64_t FakeCuda::pinnedBytes() { return bytesOf(true); }

std::vector<FakeCuda::Memory> FakeCuda::memoryOf(int caller) {
  std::lock_guard lock(state->mutex);
  std::vector<Memory> found;
  for (const Memory &memory : state->memory)
    if (memory.caller == caller)
      found.push_back(memory);
  return found;
}

} // namespace sluice::test
