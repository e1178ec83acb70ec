//===- Channel.h - one member's state of a channel --------------------------------===//
//
// Received frames that no call has used yet, and the destinations of later frames. The world's mutex guards them,
// except the slots: those of a block are used by the call until it takes the next block.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_PROCESS_CHANNEL_H
#define SLUICE_RUNTIME_COLLECTIVE_PROCESS_CHANNEL_H

#include "runtime/collective/Call.h"
#include "runtime/collective/process/Link.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>

namespace sluice::process {

using Clock = std::chrono::steady_clock;

/// Two blocks may be received before the first of them is reduced (see ProcessCommunicator.cpp).
inline constexpr std::uint64_t slotCount = 2;

/// A member makes its next call when all have made the present one, so it is one call ahead, and may leave after it.
inline constexpr std::size_t mostQueuedCalls = 4;

/// Memory of a destination that a member's frames fill in order.
struct Destination {
  std::byte *to = nullptr;
  std::uint64_t bytes = 0;
};

/// Received data of one member.
struct Inbound {
  bool hasCreated = false;
  bool left = false;
  /// Calls of this member that were not compared yet, encoded, at most mostQueuedCalls.
  std::deque<std::vector<std::byte>> calls;

  std::vector<Destination> destinations;
  std::size_t current = 0;
  std::uint64_t filled = 0;
  /// Bytes that are still expected, and frames received in this call.
  std::uint64_t remaining = 0;
  std::uint64_t results = 0;

  std::array<std::unique_ptr<std::byte[]>, slotCount> slots;
  std::array<std::uint32_t, slotCount> slotBytes{};
  /// Blocks that were received, and that were reduced, in this call.
  std::uint64_t blocks = 0;
  std::uint64_t reduced = 0;
};

struct Channel {
  std::uint64_t id = 0;
  std::string name;
  /// World ranks, ascending.
  std::vector<int> members;
  int own = 0;
  /// Bytes of a block at most.
  std::uint32_t blockBytes = 0;

  std::condition_variable changed;
  Status failure;
  std::vector<Inbound> inbound;
  /// The call under way; null: none.
  const Call *waiting = nullptr;
  Clock::time_point since;

  int size() const { return static_cast<int>(members.size()); }
  /// The member that is `worldRank`; -1: none.
  int memberOf(int worldRank) const;

  /// Store the payload of a frame; false for a frame that the protocol does not allow.
  bool receiveCall(int member, Part payload);
  bool receiveBlock(int member, Part payload);
  bool receiveResult(int member, Part payload);
};

/// Encoding of a call as bytes. The label's text and the segments are in the decoded object.
struct DecodedCall {
  Call call;
  std::string what;
  std::vector<SegmentPointers> segments;
};
void encodeCall(const Call &call, std::vector<std::byte> &out);
bool decodeCall(Part bytes, DecodedCall &out);

/// A status as bytes, and back.
std::vector<std::byte> encodeStatus(const Status &status);
Status decodeStatus(Part bytes);

} // namespace sluice::process

#endif // SLUICE_RUNTIME_COLLECTIVE_PROCESS_CHANNEL_H
