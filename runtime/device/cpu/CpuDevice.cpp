//===- CpuDevice.cpp - the CPU device -------------------------------------------===//
//
// Streams are threads (CpuStream), events are counters (CpuEvents). Memory is mapped from the operating system and
// touched at load, so that a step takes no page faults, and a lack of memory is an error at load. Priorities of streams
// are ignored.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/CpuStream.h"

#include "runtime/base/Text.h"
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace sluice {
namespace {

constexpr std::uint64_t hugePage = 2 << 20;
constexpr std::uint64_t pageSize = 4096;

/// Maps zeroed, resident memory; null with errno on failure. A mapping that can contain huge pages is aligned to them
/// and requests them: fewer TLB misses, and a faster start. The system may use small pages of the same total size.
void *mapResident(std::uint64_t bytes) {
  const std::uint64_t slack = bytes >= hugePage ? hugePage : 0;
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  if (bytes > ~slack)
    return errno = ENOMEM, nullptr;
  void *reserved = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE,
                        slack ? flags | MAP_NORESERVE : flags | MAP_POPULATE, /*fd=*/-1, 0);
  if (reserved == MAP_FAILED)
    return nullptr;
  if (!slack)
    return reserved;
  // Unmaps the pages before and after the aligned range.
  const auto begin = reinterpret_cast<std::uintptr_t>(reserved), first = (begin + hugePage - 1) / hugePage * hugePage;
  const std::uintptr_t end = (first + bytes + pageSize - 1) / pageSize * pageSize;
  if (first != begin)
    munmap(reserved, first - begin);
  if (begin + bytes + slack > end)
    munmap(reinterpret_cast<void *>(end), begin + bytes + slack - end);
  void *address = reinterpret_cast<void *>(first);
  madvise(address, bytes, MADV_HUGEPAGE);
  if (madvise(address, bytes, MADV_POPULATE_WRITE) == 0)
    return address;
  if (errno != EINVAL) {
    const int error = errno;
    munmap(address, bytes);
    return errno = error, nullptr;
  }
  // If the system does not support the request: touch every page.
  for (std::uint64_t at = 0; at < bytes; at += pageSize)
    static_cast<volatile char *>(address)[at] = 0;
  return address;
}

/// Maps zeroed memory without resident pages; null with errno on failure.
void *mapLazily(std::uint64_t bytes) {
  void *address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, 0);
  if (address == MAP_FAILED)
    return nullptr;
  madvise(address, bytes, MADV_NOHUGEPAGE);
  return address;
}

class CpuDevice final : public Device {
public:
  explicit CpuDevice(const CpuDeviceOptions &options) : options(options) {}

  Result<void *> allocate(MemorySpace space, std::uint64_t bytes, std::string_view purpose) override {
    if (bytes == 0)
      return static_cast<void *>(nullptr);
    void *address = options.prefault ? mapResident(bytes) : mapLazily(bytes);
    if (!address)
      return failedError(concat("cannot get ", bytes, " bytes of ", (space == MemorySpace::device ? "device" : "host"),
                                " memory for ", purpose, ": ", std::strerror(errno)));
    mappings.emplace_back(address, [bytes](void *mapped) { munmap(mapped, bytes); });
    requested[static_cast<std::size_t>(space)] += bytes;
    return address;
  }

  std::uint64_t allocatedBytes(MemorySpace space) const override { return requested[static_cast<std::size_t>(space)]; }

  std::shared_ptr<void> share(const void *address) const override {
    const auto found = std::ranges::find(mappings, address, &std::shared_ptr<void>::get);
    return found == mappings.end() ? nullptr : *found;
  }

  Result<StreamId> createStream(std::string_view name, int priority) override {
    auto stream = std::make_unique<CpuStream>(std::string(name), options, events, failure);
    SLUICE_RETURN_IF_ERROR(stream->start());
    streams.push_back(std::move(stream));
    return static_cast<StreamId>(streams.size() - 1);
  }

  Status createEvents(std::uint32_t count) override {
    events.resize(count);
    return {};
  }

  Status enqueue(StreamId stream, Command &command, std::uint32_t repetition) override {
    SLUICE_RETURN_IF_ERROR(checkStream(stream));
    streams[stream]->push({CpuStreamItem::Kind::run, &command, repetition, 0, 0});
    return failure.get();
  }

  Status record(StreamId stream, EventId event) override {
    SLUICE_RETURN_IF_ERROR(checkStream(stream));
    SLUICE_RETURN_IF_ERROR(checkEvent(event));
    streams[stream]->push({CpuStreamItem::Kind::record, nullptr, 0, event, events.openGeneration(event)});
    return {};
  }

  Status wait(StreamId stream, EventId event) override {
    SLUICE_RETURN_IF_ERROR(checkStream(stream));
    SLUICE_RETURN_IF_ERROR(checkEvent(event));
    if (const std::uint64_t generation = events.latest(event))
      streams[stream]->push({CpuStreamItem::Kind::wait, nullptr, 0, event, generation});
    return {};
  }

  Status await(EventId event) override {
    SLUICE_RETURN_IF_ERROR(checkEvent(event));
    events.await(event, events.latest(event));
    return failure.get();
  }

  Status synchronize() override {
    for (const auto &stream : streams)
      stream->drain();
    return failure.take();
  }

private:
  Status checkStream(StreamId stream) const {
    if (stream < streams.size())
      return {};
    return internalError(concat("stream ", stream, ", expected one of ", streams.size()));
  }
  Status checkEvent(EventId event) const {
    if (event < events.size())
      return {};
    return internalError(concat("event ", event, ", expected one of ", events.size()));
  }

  const CpuDeviceOptions options;
  CpuEvents events;
  FirstFailure failure;
  std::vector<std::shared_ptr<void>> mappings;
  std::array<std::uint64_t, 2> requested{};
  /// Last, so that they are destroyed first: their commands may access the memory.
  std::vector<std::unique_ptr<CpuStream>> streams;
};

} // namespace

Result<std::unique_ptr<Device>> createCpuDevice(const CpuDeviceOptions &options) {
  if (options.threads < 1)
    return inputError(concat("threads of a rank, expected at least 1 but got ", options.threads));
  return std::unique_ptr<Device>(std::make_unique<CpuDevice>(options));
}

} // namespace sluice
