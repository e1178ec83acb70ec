//===- ProcessCommunicator.cpp - one member's calls on a channel -----------------===//
//
// A call has four steps: set the destinations of results; send the call to the others; compare; transfer the data. Data
// for a call arrives only from members that have received this member's call, so its destination is always set.
//
// A reduction runs block by block, and each member may have sent two blocks that are not reduced: it sends block k + 2
// only after block k was reduced. In a reduce_scatter all owners have the same number of blocks, and block k + 1 of the
// owner confirms it; in an all_reduce the result of block k does.
//
//===----------------------------------------------------------------------===//
#include "runtime/collective/process/ProcessCommunicator.h"
#include "runtime/collective/local/Reduce.h"

#include <cstring>

namespace sluice::process {
ProcessCommunicator::ProcessCommunicator(ProcessWorld &world, std::shared_ptr<Channel> channel)
    : world(world), channel(std::move(channel)), decoded(this->channel->members.size()),
      calls(this->channel->members.size()) {}

ProcessCommunicator::~ProcessCommunicator() {
  Lock lock(world.mutex);
  world.channels.erase(channel->id);
  for (int m = 0; m < size(); ++m)
    if (m != channel->own)
      world.link->post(channel->members[static_cast<std::size_t>(m)], FrameKind::leave, channel->id, {});
}

void ProcessCommunicator::abort(const Status &reason) {
  Lock lock(world.mutex);
  if (!channel->failure.isOk())
    return;
  channel->failure = reason;
  channel->changed.notify_all();
  const std::vector<std::byte> text = encodeStatus(reason);
  for (int m = 0; m < size(); ++m)
    if (m != channel->own)
      world.link->post(channel->members[static_cast<std::size_t>(m)], FrameKind::abort, channel->id, text);
}

Status ProcessCommunicator::run(const Call &call, void *) {
  if (Status status = checkCall(call, size()); !status.isOk()) {
    abort(status);
    return status;
  }
  {
    Lock lock(world.mutex);
    if (Status known = failureOf(); !known.isOk())
      return known;
    prepareDestinations(call);
    channel->waiting = &call;
    channel->since = Clock::now();
  }
  Status status = exchangeCalls(call);
  const bool met = status.isOk();
  if (met)
    status = work(call);
  Lock lock(world.mutex);
  if (met && !status.isOk() && failureOf().isOk())
    // A connection has broken: the world is notified of the reason a little later.
    channel->changed.wait_for(lock, std::chrono::seconds(2), [&] { return !failureOf().isOk(); });
  channel->waiting = nullptr;
  if (status.isOk()) {
    world.progressCount.fetch_add(1, std::memory_order_relaxed);
    return status;
  }
  if (Status known = failureOf(); !known.isOk())
    status = known;
  else
    channel->failure = status;
  // Later frames must not write to the caller's memory.
  for (Inbound &inbound : channel->inbound)
    inbound.remaining = 0;
  return status;
}

template <typename Ready> Status ProcessCommunicator::waitFor(Lock &lock, Ready &&ready) {
  channel->changed.wait(lock, [&] { return ready() || !failureOf().isOk(); });
  return ready() ? Status::ok() : failureOf();
}

template <typename Visit> Status ProcessCommunicator::forOthers(Visit &&visit) {
  for (int i = 1; i < size(); ++i)
    SLUICE_RETURN_IF_ERROR(visit((channel->own + i) % size()));
  return {};
}

Status ProcessCommunicator::exchangeCalls(const Call &call) {
  encodeCall(call, encoded);
  const Heartbeat heartbeat = world.ownHeartbeat();
  const Part bytes = std::as_bytes(std::span(&heartbeat, 1));
  encoded.insert(encoded.end(), bytes.begin(), bytes.end());
  if (encoded.size() > maxFrameBytes)
    return refusedError("segments of a collective, expected fewer but got " + std::to_string(call.segments.size()));
  SLUICE_RETURN_IF_ERROR(forOthers([&](int m) {
    world.link->post(channel->members[static_cast<std::size_t>(m)], FrameKind::call, channel->id, encoded);
    return Status::ok();
  }));
  calls[static_cast<std::size_t>(channel->own)] = &call;
  Lock lock(world.mutex);
  SLUICE_RETURN_IF_ERROR(forOthers([&](int m) {
    Inbound &other = from(m);
    const int worldRank = channel->members[static_cast<std::size_t>(m)];
    SLUICE_RETURN_IF_ERROR(waitFor(lock, [&] { return !other.calls.empty() || other.left; }));
    if (other.calls.empty())
      return leftError(worldRank, channel->name, channel->members[static_cast<std::size_t>(channel->own)], call);
    DecodedCall &theirs = decoded[static_cast<std::size_t>(m)];
    const bool good = decodeCall(other.calls.front(), theirs);
    other.calls.pop_front();
    if (!good)
      return failedError("a call of rank " + std::to_string(worldRank) + " cannot be read");
    calls[static_cast<std::size_t>(m)] = &theirs.call;
    return Status::ok();
  }));
  return compareCalls(channel->name, channel->members, calls);
}

void ProcessCommunicator::addDestination(int member, std::byte *to, std::uint64_t bytes) {
  if (bytes == 0)
    return;
  from(member).destinations.push_back({to, bytes});
  from(member).remaining += bytes;
}

void ProcessCommunicator::prepareDestinations(const Call &call) {
  const std::uint64_t element = dtypeBytes(call.dtype);
  for (int m = 0; m < size(); ++m) {
    Inbound &inbound = from(m);
    inbound.destinations.clear();
    inbound.current = 0;
    inbound.filled = inbound.remaining = inbound.results = inbound.blocks = inbound.reduced = 0;
    if (m == channel->own)
      continue;
    if (reduces(call.kind) && !inbound.slots[0])
      for (auto &slot : inbound.slots)
        slot.reset(new std::byte[channel->blockBytes]);
    for (std::size_t s = 0; s < call.segments.size(); ++s) {
      const SegmentPointers &segment = call.segments[s];
      const std::uint64_t bytes = segment.count * element;
      if (call.kind == CallKind::allGather || call.kind == CallKind::allToAll)
        addDestination(m, segment.destinationAt(static_cast<std::uint64_t>(m) * bytes), bytes);
      else if (call.kind == CallKind::broadcast && m == call.root)
        addDestination(m, segment.destinationAt(0), bytes);
      else if (call.kind == CallKind::allReduce) {
        const std::uint64_t begin = rangeFrom(call, s, m, size());
        addDestination(m, segment.destinationAt(begin * element),
                       (rangeFrom(call, s, m + 1, size()) - begin) * element);
      }
    }
  }
}

Status ProcessCommunicator::work(const Call &call) {
  const std::uint64_t element = dtypeBytes(call.dtype);
  const bool exchanges = call.kind == CallKind::allToAll, gathers = call.kind == CallKind::allGather;
  const bool sends = exchanges || gathers || (call.kind == CallKind::broadcast && call.root == channel->own);
  if (reduces(call.kind))
    SLUICE_RETURN_IF_ERROR(reduceInBlocks(call));
  if (sends) {
    SLUICE_RETURN_IF_ERROR(sendToOthers(call));
    const auto own = static_cast<std::uint64_t>(channel->own);
    for (const SegmentPointers &segment : call.segments) {
      const std::uint64_t bytes = segment.count * element;
      const std::byte *source = segment.sourceAt(exchanges ? own * bytes : 0);
      std::byte *to = segment.destinationAt(exchanges || gathers ? own * bytes : 0);
      if (to != source && bytes != 0)
        std::memcpy(to, source, bytes);
    }
  }
  Lock lock(world.mutex);
  return forOthers([&](int m) { return waitFor(lock, [&] { return from(m).remaining == 0; }); });
}

Status ProcessCommunicator::sendRanges(int member, FrameKind kind, const Call &call, std::span<const BlockRange> ranges,
                                       bool source) {
  const std::uint64_t element = dtypeBytes(call.dtype);
  parts.clear();
  for (const BlockRange &range : ranges) {
    const SegmentPointers &segment = call.segments[range.segment];
    const std::uint64_t offset = range.begin * element;
    parts.push_back({source ? segment.sourceAt(offset) : segment.destinationAt(offset), range.count * element});
  }
  return world.link->send(channel->members[static_cast<std::size_t>(member)], kind, channel->id, parts);
}

Status ProcessCommunicator::sendToOthers(const Call &call) {
  const std::uint64_t elements = maxFrameBytes / dtypeBytes(call.dtype);
  // The chunk of each member, or the complete segments, as if a group of one owned them.
  std::vector<BlockCursor> cursors;
  for (int m = 0; m < size(); ++m)
    cursors.push_back(call.kind == CallKind::allToAll ? BlockCursor(call, m, size()) : BlockCursor(call, 0, 1));
  const auto sendNext = [&](int m) {
    BlockCursor &cursor = cursors[static_cast<std::size_t>(m)];
    if (cursor.atEnd())
      return Status::ok();
    cursor.next(elements, ranges);
    return sendRanges(m, FrameKind::result, call, ranges, true);
  };
  // All chunks have one size.
  while (!cursors[static_cast<std::size_t>((channel->own + 1) % size())].atEnd() && size() > 1)
    SLUICE_RETURN_IF_ERROR(forOthers(sendNext));
  return {};
}

void ProcessCommunicator::reduceRanges(const Call &call, std::span<const BlockRange> ranges, std::uint64_t block) {
  const std::uint64_t element = dtypeBytes(call.dtype);
  std::uint64_t received = 0;
  for (const BlockRange &range : ranges) {
    const SegmentPointers &segment = call.segments[range.segment];
    const auto sourceOf = [&](int m) {
      return m == channel->own ? segment.sourceAt(range.begin * element)
                               : from(m).slots[block % slotCount].get() + received;
    };
    const std::uint64_t first =
        call.kind == CallKind::reduceScatter ? rangeFrom(call, range.segment, channel->own, size()) : 0;
    std::byte *const to = segment.destinationAt((range.begin - first) * element);
    local::reduce(call, range.count, size(), std::cref(sourceOf), 1, [to](int) { return to; });
    received += range.count * element;
  }
}

Status ProcessCommunicator::reduceInBlocks(const Call &call) {
  const std::uint64_t element = dtypeBytes(call.dtype);
  const std::uint64_t elements = channel->blockBytes / element;
  const bool all = call.kind == CallKind::allReduce;
  std::vector<BlockCursor> cursors;
  for (int m = 0; m < size(); ++m)
    cursors.emplace_back(call, m, size());
  BlockCursor &own = cursors[static_cast<std::size_t>(channel->own)];
  for (std::uint64_t block = 0; std::ranges::any_of(cursors, [](const auto &c) { return !c.atEnd(); }); ++block) {
    SLUICE_RETURN_IF_ERROR(forOthers([&](int m) {
      BlockCursor &cursor = cursors[static_cast<std::size_t>(m)];
      if (cursor.atEnd())
        return Status::ok();
      if (all && block >= slotCount) {
        Lock lock(world.mutex);
        SLUICE_RETURN_IF_ERROR(waitFor(lock, [&] { return from(m).results + slotCount > block; }));
      }
      cursor.next(elements, ranges);
      return sendRanges(m, FrameKind::block, call, ranges, true);
    }));
    if (own.atEnd())
      continue;
    own.next(elements, ranges);
    std::uint64_t bytes = 0;
    for (const BlockRange &range : ranges)
      bytes += range.count * element;
    {
      Lock lock(world.mutex);
      SLUICE_RETURN_IF_ERROR(forOthers([&](int m) {
        SLUICE_RETURN_IF_ERROR(waitFor(lock, [&] { return from(m).blocks > block; }));
        return from(m).slotBytes[block % slotCount] == bytes
                   ? Status::ok()
                   : failedError("a block of rank " + std::to_string(channel->members[static_cast<std::size_t>(m)]) +
                                 ", expected " + std::to_string(bytes) + " bytes but got " +
                                 std::to_string(from(m).slotBytes[block % slotCount]));
      }));
    }
    reduceRanges(call, ranges, block);
    {
      Lock lock(world.mutex);
      for (Inbound &inbound : channel->inbound)
        inbound.reduced = block + 1;
    }
    if (all)
      SLUICE_RETURN_IF_ERROR(forOthers([&](int m) { return sendRanges(m, FrameKind::result, call, ranges, false); }));
  }
  return {};
}

} // namespace sluice::process
