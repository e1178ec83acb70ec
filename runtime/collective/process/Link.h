//===- Link.h - frames between the processes of a world --------------------------===//
//
// A Link transfers frames between processes, by MPI or sockets, and does not interpret them. Frames from one process
// arrive complete and in the order in which they were sent. A link delivers in a separate thread.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_PROCESS_LINK_H
#define SLUICE_RUNTIME_COLLECTIVE_PROCESS_LINK_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::process {

enum class FrameKind : std::uint8_t {
  /// Machine and process number of the sender.
  hello,
  /// The sender has created a channel.
  join,
  /// The sender's call on a channel, and a heartbeat.
  call,
  /// Elements that the receiver reduces.
  block,
  /// Elements for the receiver's destination.
  result,
  /// The sender has destroyed its communicator of a channel.
  leave,
  /// A channel, or the world where the channel is 0, ends with a reason.
  abort,
  /// The progress of the sender.
  heartbeat,
  /// The sender ends normally and sends no further frame; losing it is not a failure.
  goodbye,
};

struct FrameHeader {
  std::uint64_t channel = 0;
  std::uint32_t bytes = 0;
  FrameKind kind = FrameKind::hello;
  std::uint8_t unused[3] = {};
  /// frameChecksum(): that of TCP does not notice exchanged words.
  std::uint64_t checksum = 0;
};
static_assert(sizeof(FrameHeader) == 24);

/// Payload of a frame at most; a longer one is refused by the receiver.
inline constexpr std::uint32_t maxFrameBytes = 1 << 18;

using Part = std::span<const std::byte>;

/// A checksum of the header, without its checksum, and of the payload.
std::uint64_t frameChecksum(FrameHeader header, std::span<const Part> payload);
/// Why a process is lost whose frame has another checksum.
inline constexpr std::string_view changedFrame = "a frame was changed in transfer";

/// Called only by the link's thread. The calls neither wait for a frame nor call send(); post() is allowed.
class FrameSink {
public:
  virtual ~FrameSink() = default;
  virtual void onFrame(int source, const FrameHeader &header, Part payload) = 0;
  /// No further frame comes from that process.
  virtual void onLost(int source, std::string_view why) = 0;
  /// About every 100 milliseconds.
  virtual void onTick() = 0;
};

class Link {
public:
  virtual ~Link() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// "mpi", "socket": for messages.
  virtual std::string_view name() const = 0;

  /// Starts the delivery.
  virtual Status start(FrameSink &sink) = 0;
  /// Sends a frame of these parts, at most maxFrameBytes, which may be changed when it returns. Waits for buffer space.
  /// Thread-safe; not for the link's thread.
  virtual Status send(int peer, FrameKind kind, std::uint64_t channel, std::span<const Part> parts) = 0;
  /// Queues a small frame after the frames that were sent. Never waits; thread-safe. Frames to a lost process are
  /// dropped.
  virtual void post(int peer, FrameKind kind, std::uint64_t channel, Part payload) = 0;
  /// After the world failed: a send() that waits returns an error after a short time.
  virtual void abandonSends() = 0;
  /// Ends the thread and the connections; `orderly`: every process has sent its goodbye.
  virtual void stop(bool orderly) = 0;
};

} // namespace sluice::process

#endif // SLUICE_RUNTIME_COLLECTIVE_PROCESS_LINK_H
