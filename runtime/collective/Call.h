//===- Call.h - the call of one member of a group, as text -------------------------===//
//
// Every communicator that can see its peers' calls compares them before it moves a byte: the members of a group must
// call the same collective, of the same sizes, for the same instruction. The words are the same whatever carries them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_CALL_H
#define SLUICE_RUNTIME_COLLECTIVE_CALL_H

#include "runtime/collective/Communicator.h"

namespace sluice {

enum class CallKind : std::uint8_t { allGather, reduceScatter, allReduce, broadcast, barrier };

/// The call of one member.
struct Call {
  CallKind kind = CallKind::barrier;
  DType dtype = DType::f32;
  Reduction op = Reduction::none;
  double scale = 1;
  int root = 0;
  std::span<const SegmentPointers> segments;
  CallLabel label;
};

/// "rank 1 calls all_gather of 3 segments, 9216 f32 (instruction 12, h.0)".
std::string describeCall(int worldRank, const Call &call);

/// The error of calls that do not belong together, or ok. `members` are world ranks, `calls` theirs.
Status compareCalls(std::string_view channel, std::span<const int> members, std::span<const Call *const> calls);

/// The error of an invalid call: no reduction, a scale of integers, a root that is not a member.
Status checkCall(const Call &call, int members);

/// The error of a member list that is not ascending ranks of the world with `rank` among them.
Status checkMembers(int rank, std::span<const int> members, int worldSize);

/// "rank 1 has left channel 'gather' while rank 0 calls barrier (instruction 5, h.0)".
Status leftError(int leftRank, std::string_view channel, int waitingRank, const Call &waiting);

} // namespace sluice

#endif // SLUICE_RUNTIME_COLLECTIVE_CALL_H
