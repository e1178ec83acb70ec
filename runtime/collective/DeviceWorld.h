//===- DeviceWorld.h - a world whose ranks have a GPU each ------------------------------===//
//
// Beside the communicators of a World, which work on the host's memory, it makes communicators that work on streams. Which
// streams and groups there are is known before the arena is requested, so that what the library takes for itself is taken
// first.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_DEVICEWORLD_H
#define SLUICE_RUNTIME_COLLECTIVE_DEVICEWORLD_H

#include "runtime/collective/Communicator.h"

namespace sluice {

class DeviceWorld : public World {
public:
  /// As create(); all ranks of the world call it at the same point, each for its own group. The device's context is current.
  virtual Result<std::unique_ptr<Communicator>> createForDevice(int rank, std::span<const int> members,
                                                                std::string_view channel) = 0;
  /// Memory that collectives will be called on, after the communicators were made and before the first call.
  virtual Status registerMemory(void *memory, std::uint64_t bytes) = 0;
  /// What the library, or whoever watches it, has found wrong since; ok otherwise. Thread-safe.
  virtual Status health() const = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_COLLECTIVE_DEVICEWORLD_H
