//===- Call.h - checks and descriptions of calls -----------------------------------===//
//
// Communicators that receive the calls of all members compare them before they transfer data: the members of a group
// must call the same collective, of the same sizes, for the same instruction. The messages are the same for every
// backend.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_CALL_H
#define SLUICE_RUNTIME_COLLECTIVE_CALL_H

#include "runtime/collective/Communicator.h"

namespace sluice {

/// True for reduce_scatter and all_reduce.
inline bool reduces(CallKind kind) { return kind == CallKind::reduceScatter || kind == CallKind::allReduce; }

/// First element of the range of a segment's source that `member` receives in an all_to_all, or reduces in a
/// reduce_scatter or all_reduce; that of the next member is its end.
inline std::uint64_t rangeFrom(const Call &call, std::size_t segment, int member, int members) {
  const std::uint64_t elements = call.segments[segment].count * static_cast<std::uint64_t>(member);
  return call.kind == CallKind::allReduce ? elements / static_cast<std::uint64_t>(members) : elements;
}

/// "rank 1 calls all_gather of 3 segments, 9216 f32 (instruction 12, h.0)".
std::string describeCall(int worldRank, const Call &call);

/// Refuses calls that differ. `members` are world ranks, `calls` theirs.
Status compareCalls(std::string_view channel, std::span<const int> members, std::span<const Call *const> calls);

/// Refuses an invalid call: without a reduction, with a scale of integers, with a root that is not a member, an
/// all_to_all in place.
Status checkCall(const Call &call, int members);

/// Refuses a member list that is not ascending ranks of the world, `rank` included.
Status checkMembers(int rank, std::span<const int> members, int worldSize);

/// "rank 1 has left channel 'gather' while rank 0 calls barrier (instruction 5, h.0)".
Status leftError(int leftRank, std::string_view channel, int waitingRank, const Call &waiting);

} // namespace sluice

#endif // SLUICE_RUNTIME_COLLECTIVE_CALL_H
