//===- Device.h - memory, streams and events of one rank's device -------------===//
//
// The interface that the executor uses: one arena per memory space, streams that run commands in order, events between
// them. Every call except synchronize() returns immediately; work runs on the streams. One Device serves one rank, and
// only that rank's thread calls it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_DEVICE_DEVICE_H
#define SLUICE_RUNTIME_DEVICE_DEVICE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace sluice {

enum class MemorySpace : std::uint8_t { device, host };

/// Work of a stream. Created at load and kept, so that issuing it allocates nothing.
/// CUDA equivalent: a kernel launch, an asynchronous copy or an NCCL call on a stream.
class Command {
public:
  virtual ~Command() = default;
  /// Runs on the stream's thread (CPU) or enqueues on the stream (GPU). `repetition` counts the section's repetitions.
  /// The stream is null if the command must run immediately: on the CPU, and on a host stream of a GPU plan.
  virtual Status execute(void *nativeStream, std::uint32_t repetition) = 0;
  /// Index of the instruction, for diagnostics.
  virtual std::uint32_t instruction() const = 0;
};

/// CUDA equivalent: cudaStream_t.
using StreamId = std::uint32_t;
/// CUDA equivalent: cudaEvent_t without timing.
using EventId = std::uint32_t;

class Device {
public:
  virtual ~Device() = default;

  /// Requests `bytes` of zeroed memory, aligned to 4096. Kept until the device and the owners of share() are destroyed.
  virtual Result<void *> allocate(MemorySpace space, std::uint64_t bytes, std::string_view purpose) = 0;
  /// An owner of the memory at an address that allocate() returned, which then outlives the device; null for the memory
  /// of a GPU.
  virtual std::shared_ptr<void> share(const void *address) const { return nullptr; }
  /// As allocate() of device memory, which other processes' devices can map.
  virtual Result<void *> allocateForPeers(std::uint64_t bytes, std::string_view purpose) {
    return allocate(MemorySpace::device, bytes, purpose);
  }
  /// Bytes requested so far, counted where they are requested.
  virtual std::uint64_t allocatedBytes(MemorySpace space) const = 0;

  /// Streams and events are created once, before the first command.
  virtual Result<StreamId> createStream(std::string_view name, int priority) = 0;
  virtual Status createEvents(std::uint32_t count) = 0;
  /// A stream whose commands the host runs, on the host's memory, as all streams of the CPU device.
  virtual Result<StreamId> createHostStream(std::string_view name, int priority) {
    return createStream(name, priority);
  }

  /// Appends a command. Returns the first failure of any stream if one is known.
  virtual Status enqueue(StreamId stream, Command &command, std::uint32_t repetition) = 0;
  /// The event is complete when all earlier work of the stream is done. A second record resets it. cudaEventRecord.
  virtual Status record(StreamId stream, EventId event) = 0;
  /// Later work of the stream waits for the latest issued record of the event. cudaStreamWaitEvent.
  virtual Status wait(StreamId stream, EventId event) = 0;
  /// As record(), for await(). In a recording it is one such record per replay.
  virtual Status recordForHost(StreamId stream, EventId event) { return record(stream, event); }
  /// Blocks the caller until the latest recordForHost() of the event that was issued is complete. Returns a failure of
  /// any stream that is known by then and keeps it for synchronize().
  virtual Status await(EventId event) = 0;
  /// Blocks the caller until all streams are idle; returns the first failure of any of them.
  virtual Status synchronize() = 0;

  /// Within a command: copies bytes between any two of the device's spaces on its stream. cudaMemcpyAsync. The CPU
  /// copies immediately.
  virtual Status copy(void *nativeStream, void *to, const void *from, std::uint64_t bytes) {
    std::memmove(to, from, bytes);
    return {};
  }
  /// Within a command: `count` elements of 1, 2, 4 or 8 bytes of that pattern. cudaMemsetAsync.
  virtual Status fill(void *nativeStream, void *to, const void *pattern, std::uint32_t elementBytes,
                      std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
      std::memcpy(static_cast<char *>(to) + i * elementBytes, pattern, elementBytes);
    return {};
  }
  /// Between steps, by any thread: copies between the device's memory and the caller's. Does not wait for the streams:
  /// call synchronize() first.
  virtual Status read(void *to, const void *from, std::uint64_t bytes) {
    std::memcpy(to, from, bytes);
    return {};
  }
  virtual Status write(void *to, const void *from, std::uint64_t bytes) {
    std::memcpy(to, from, bytes);
    return {};
  }
};

/// Delays of the CPU device before commands, for skew tests; thread-safe.
class DelayInjector {
public:
  virtual ~DelayInjector() = default;
  /// Called on the stream's thread before a command runs.
  virtual void before(std::string_view stream, std::uint32_t instruction, std::uint32_t repetition) = 0;
};

struct CpuDeviceOptions {
  /// Compute threads of this rank (OpenMP threads inside kernels).
  int threads = 1;
  /// Not owned; null: none.
  DelayInjector *delays = nullptr;
  /// Memory is resident when allocate() returns; else it has pages of 4096 bytes, each resident after its first access.
  bool prefault = true;
};

/// Streams are worker threads that sleep when idle.
Result<std::unique_ptr<Device>> createCpuDevice(const CpuDeviceOptions &options);

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_DEVICE_H
