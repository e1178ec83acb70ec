//===- LocalGroup.cpp - the rendezvous of the ranks of one group -------------------===//
#include "runtime/collective/local/LocalGroup.h"
#include "runtime/collective/local/Reduce.h"

#include <cstring>

namespace sluice::local {
LocalGroup::LocalGroup(std::vector<int> members, std::string channel)
    : members(std::move(members)), channel(std::move(channel)), calls(this->members.size()) {}

Status LocalGroup::run(int member, const Call &call) {
  {
    std::unique_lock lock(mutex);
    if (!failure.isOk())
      return failure;
    calls[member] = &call;
    const std::uint64_t meeting = meetings;
    if (++arrivedCount == size()) {
      arrivedCount = 0;
      failure = compareCalls(channel, members, calls);
      mismatch = !failure.isOk();
      ++meetings;
      met.notify_all();
      if (mismatch)
        return failure;
    } else {
      abandonIfLeft();
      met.wait(lock, [&] { return meetings != meeting || !failure.isOk(); });
      // After the rendezvous is complete, every member does its part, whatever happens meanwhile: a member that reads
      // the memory of another one must not be left alone. A failed comparison has not started any work.
      const bool complete = meetings != meeting;
      if (!complete) {
        calls[member] = nullptr;
        --arrivedCount;
        return failure;
      }
      if (mismatch)
        return failure;
    }
  }
  work(member);
  std::unique_lock lock(mutex);
  const std::uint64_t departure = departures;
  if (++finishedCount == size()) {
    finishedCount = 0;
    ++departures;
    finished.notify_all();
  } else {
    finished.wait(lock, [&] { return departures != departure; });
  }
  return {};
}

void LocalGroup::abort(const Status &reason) {
  std::lock_guard lock(mutex);
  if (failure.isOk())
    failure = reason;
  met.notify_all();
}

void LocalGroup::leave(int member) {
  std::lock_guard lock(mutex);
  if (left < 0)
    left = member;
  if (arrivedCount != 0)
    abandonIfLeft();
}

void LocalGroup::abandonIfLeft() {
  if (left < 0 || !failure.isOk())
    return;
  int waiting = 0;
  while (!calls[waiting])
    ++waiting;
  failure = leftError(members[left], channel, members[waiting], *calls[waiting]);
  met.notify_all();
}

void LocalGroup::work(int member) const {
  const Call &mine = *calls[member];
  const std::uint64_t element = dtypeBytes(mine.dtype);
  for (std::size_t s = 0; s < mine.segments.size(); ++s) {
    const SegmentPointers &segment = mine.segments[s];
    const std::uint64_t bytes = segment.count * element;
    switch (mine.kind) {
    case CallKind::barrier:
      break;
    case CallKind::allGather:
      for (int m = 0; m < size(); ++m) {
        std::byte *slot = segment.destinationAt(m * bytes);
        const void *chunk = calls[m]->segments[s].source;
        if (slot != chunk && bytes != 0)
          std::memcpy(slot, chunk, bytes);
      }
      break;
    case CallKind::allToAll:
      for (int m = 0; m < size() && bytes != 0; ++m)
        std::memcpy(segment.destinationAt(m * bytes), calls[m]->segments[s].sourceAt(member * bytes), bytes);
      break;
    case CallKind::broadcast: {
      const void *rootSource = calls[mine.root]->segments[s].source;
      if (segment.destination != rootSource && bytes != 0)
        std::memcpy(segment.destination, rootSource, bytes);
      break;
    }
    case CallKind::reduceScatter:
    case CallKind::allReduce: {
      // This member's range of every source, into its destination or into the same range of every destination. In place
      // each element has one reader and writer.
      const std::uint64_t begin = rangeFrom(mine, s, member, size());
      const std::uint64_t count = rangeFrom(mine, s, member + 1, size()) - begin;
      const auto sourceOf = [&](int m) { return calls[m]->segments[s].sourceAt(begin * element); };
      const auto destinationOf = [&](int m) { return calls[m]->segments[s].destinationAt(begin * element); };
      if (mine.kind == CallKind::allReduce)
        reduce(mine, count, size(), std::cref(sourceOf), size(), std::cref(destinationOf));
      else
        reduce(mine, count, size(), std::cref(sourceOf), 1, [&segment](int) { return segment.destination; });
      break;
    }
    }
  }
}

} // namespace sluice::local
