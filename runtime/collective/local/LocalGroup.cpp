//===- LocalGroup.cpp - the rendezvous of the ranks of one group -------------------===//
#include "runtime/collective/local/LocalGroup.h"
#include "runtime/collective/local/Reduce.h"

#include <cstddef>
#include <cstring>

namespace sluice::local {
namespace {

/// A range of one segment in the memory of every member.
struct Range {
  const std::vector<const Call *> &calls;
  std::size_t segment;
  std::uint64_t offset;
};

void *sourceOf(const void *context, int m) {
  const auto *range = static_cast<const Range *>(context);
  const void *base = range->calls[m]->segments[range->segment].source;
  return const_cast<std::byte *>(static_cast<const std::byte *>(base)) + range->offset;
}

void *destinationOf(const void *context, int m) {
  const auto *range = static_cast<const Range *>(context);
  return static_cast<std::byte *>(range->calls[m]->segments[range->segment].destination) + range->offset;
}

} // namespace

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
  const Reducer reducer{mine.dtype, mine.op, mine.scale};
  for (std::size_t s = 0; s < mine.segments.size(); ++s) {
    const SegmentPointers &segment = mine.segments[s];
    const std::uint64_t bytes = segment.count * element;
    switch (mine.kind) {
    case CallKind::barrier:
      break;
    case CallKind::allGather:
      for (int m = 0; m < size(); ++m) {
        auto *slot = static_cast<std::byte *>(segment.destination) + m * bytes;
        const void *chunk = calls[m]->segments[s].source;
        if (slot != chunk && bytes != 0)
          std::memcpy(slot, chunk, bytes);
      }
      break;
    case CallKind::broadcast: {
      const void *rootSource = calls[mine.root]->segments[s].source;
      if (segment.destination != rootSource && bytes != 0)
        std::memcpy(segment.destination, rootSource, bytes);
      break;
    }
    case CallKind::reduceScatter: {
      // The own chunk of every source, into the own destination.
      const Range chunk{calls, s, member * bytes};
      const MemberPointers destination{[](const void *context, int) { return const_cast<void *>(context); },
                                       segment.destination, 1};
      reduce(reducer, segment.count, {sourceOf, &chunk, size()}, destination);
      break;
    }
    case CallKind::allReduce: {
      // The own part of the range, into every destination: in place each element has one reader and writer.
      const std::uint64_t begin = segment.count * member / size();
      const std::uint64_t end = segment.count * (member + 1) / size();
      const Range part{calls, s, begin * element};
      reduce(reducer, end - begin, {sourceOf, &part, size()}, {destinationOf, &part, size()});
      break;
    }
    }
  }
}

} // namespace sluice::local
