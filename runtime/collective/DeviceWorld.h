//===- DeviceWorld.h - a world whose ranks have a GPU each ------------------------------===//
//
// Next to the communicators of a World, which work on the host's memory, it creates communicators that work on streams.
// Streams and groups are known before the arena is requested, so that the library allocates its memory first.
//
// Streams may wait for ranks that have died. So a rank's thread never blocks in the driver: it polls its streams, and
// checkWait() between two polls. After a failure nothing that streams may still use is destroyed: the caller reports
// the failure and ends the process.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_DEVICEWORLD_H
#define SLUICE_RUNTIME_COLLECTIVE_DEVICEWORLD_H

#include "runtime/collective/Communicator.h"

#include <chrono>

namespace sluice {

class DeviceWorld : public World {
public:
  /// As create(); all ranks of the world call it at the same point, each for its own group. The device's context is
  /// current. The ranks of the group are connected when it returns.
  virtual Result<std::unique_ptr<Communicator>> createForDevice(int rank, std::span<const int> members,
                                                                std::string_view channel) = 0;
  /// Memory of Device::allocateForPeers() that collectives will be called on, after the communicators were created and
  /// before the first call. All ranks call it at the same point, with memory of one size that is divided in the same
  /// way.
  virtual Status registerMemory(void *memory, std::uint64_t bytes) = 0;
  /// Device memory that the library has allocated for the communicators so far.
  virtual std::uint64_t libraryBytes() const = 0;
  /// Called by the rank's thread while it waits for its streams since `since`. An error ends the wait: a rank has
  /// failed, or a collective has made no progress for too long.
  virtual Status checkWait(std::chrono::steady_clock::time_point since) = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_COLLECTIVE_DEVICEWORLD_H
