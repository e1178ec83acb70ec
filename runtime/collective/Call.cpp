//===- Call.cpp - checks and descriptions of calls ---------------------------------===//
#include "runtime/collective/Call.h"

#include "runtime/base/Text.h"
#include <algorithm>

namespace sluice {
namespace {

std::string_view kindName(CallKind kind) {
  constexpr std::string_view names[] = {"all_gather", "reduce_scatter", "all_reduce",
                                        "broadcast",  "all_to_all",     "barrier"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view reductionName(Reduction op) {
  constexpr std::string_view names[] = {"none", "sum", "mean", "premul_sum", "max"};
  return names[static_cast<std::size_t>(op)];
}

} // namespace

std::string describeCall(int worldRank, const Call &call) {
  std::uint64_t elements = 0;
  for (const SegmentPointers &segment : call.segments)
    elements += segment.count;
  std::string text = concat("rank ", worldRank, " calls ", kindName(call.kind));
  if (call.kind != CallKind::barrier) {
    text += concat(" of ", call.segments.size(), " segments, ", elements, " ", dtypeName(call.dtype));
    if (reduces(call.kind))
      text += ", " + std::string(reductionName(call.op));
    if (call.op == Reduction::premulSum)
      text += concat(" by ", call.scale);
    if (call.kind == CallKind::broadcast)
      text += concat(", from ", call.root);
  }
  return concat(text, " (instruction ", call.label.instruction, ", ", std::string(call.label.what), ")");
}

Status compareCalls(std::string_view channel, std::span<const int> members, std::span<const Call *const> calls) {
  const Call &first = *calls[0];
  for (std::size_t m = 1; m < members.size(); ++m) {
    const Call &other = *calls[m];
    bool same = first.kind == other.kind && first.dtype == other.dtype && first.op == other.op &&
                first.scale == other.scale && first.root == other.root &&
                first.segments.size() == other.segments.size() && first.label.instruction == other.label.instruction &&
                first.label.what == other.label.what;
    std::string detail;
    for (std::size_t s = 0; same && s < first.segments.size(); ++s)
      if (first.segments[s].count != other.segments[s].count) {
        same = false;
        detail =
            concat(": segment ", s, " has ", first.segments[s].count, " and ", other.segments[s].count, " elements");
      }
    if (!same)
      return failedError("collectives on channel '" + std::string(channel) + "' disagree: " +
                         describeCall(members[0], first) + " but " + describeCall(members[m], other) + detail);
  }
  return {};
}

Status checkCall(const Call &call, int members) {
  if (call.kind == CallKind::broadcast && (call.root < 0 || call.root >= members))
    return failedError(concat("root of a broadcast, expected less than ", members, " but got ", call.root));
  if (reduces(call.kind) && call.op == Reduction::none)
    return failedError("missing reduction of a collective, expected sum, mean, premul_sum or max");
  if (reduces(call.kind) && call.op == Reduction::premulSum && !isFloat(call.dtype))
    return failedError("premul_sum, expected a float type but got " + std::string(dtypeName(call.dtype)));
  if (call.kind == CallKind::allToAll)
    for (const SegmentPointers &segment : call.segments) {
      const std::uint64_t bytes = segment.count * static_cast<std::uint64_t>(members) * dtypeBytes(call.dtype);
      if (segment.source < segment.destinationAt(bytes) && segment.destination < segment.sourceAt(bytes))
        return failedError("destination of an all_to_all, expected other memory than that of the source");
    }
  return {};
}

Status checkMembers(int rank, std::span<const int> members, int worldSize) {
  const auto less = [](int a, int b) { return a < b; };
  if (members.empty() || !std::ranges::is_sorted(members, less) ||
      std::ranges::adjacent_find(members) != members.end() || members.front() < 0 || members.back() >= worldSize)
    return internalError(concat("members of a group, expected ascending ranks below ", worldSize));
  if (!std::ranges::binary_search(members, rank))
    return internalError(concat("members of a group, expected rank ", rank, " among them"));
  return {};
}

Status leftError(int leftRank, std::string_view channel, int waitingRank, const Call &waiting) {
  return failedError(
      concat("rank ", leftRank, " has left channel '", channel, "' while ", describeCall(waitingRank, waiting)));
}

} // namespace sluice
