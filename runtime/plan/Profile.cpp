//===- Profile.cpp - live bytes over a step, from the plan alone ------------------------===//
//
// See Profile.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Profile.h"

#include <algorithm>

namespace sluice {
namespace {

bool isLive(const plan::BufferT &buffer, std::uint32_t entry, std::uint32_t instruction) {
  return buffer.entry == -1 ||
         (buffer.entry == int(entry) &&
          ((buffer.begin <= instruction && instruction < buffer.end) ||
           (buffer.reserved_from != 0 && (instruction < buffer.begin || buffer.reserved_from <= instruction))));
}

std::uint64_t overlap(const plan::BufferT &a, const plan::BufferT &b) {
  const std::uint64_t from = std::max(a.offset, b.offset);
  const std::uint64_t to = std::min(a.offset + a.bytes, b.offset + b.bytes);
  return from < to ? to - from : 0;
}

/// Calls `visit(old, instruction, bytes)` where a buffer replaces `old` in place.
template <typename Visit>
void forEachReplacement(const plan::PlanT &plan, std::uint32_t entry, plan::Space space, Visit &&visit) {
  // Buffers by the instruction at which they begin.
  std::vector<std::pair<std::uint32_t, const plan::BufferT *>> begins;
  for (const auto &buffer : plan.buffers)
    if (buffer->entry == int(entry) && buffer->space == space)
      begins.push_back({buffer->begin, buffer.get()});
  std::stable_sort(begins.begin(), begins.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  for (const auto &buffer : plan.buffers) {
    if (buffer->entry != int(entry) || buffer->space != space)
      continue;
    const std::uint32_t last = buffer->end - 1;
    auto at = std::lower_bound(begins.begin(), begins.end(), last,
                               [](const auto &pair, std::uint32_t key) { return pair.first < key; });
    for (; at != begins.end() && at->first == last; ++at)
      if (at->second != buffer.get())
        if (const std::uint64_t bytes = overlap(*buffer, *at->second))
          visit(*buffer, last, bytes);
  }
}

std::uint64_t workspaceOf(const plan::PlanT &plan, plan::Space space) {
  const plan::ArenaT *arena = arenaOf(plan, space);
  return arena ? arena->workspace : 0;
}

/// Live between instruction `at - 1` and instruction `at`.
std::uint64_t liveBetween(const plan::PlanT &plan, std::uint32_t entry, std::uint32_t at, plan::Space space) {
  std::uint64_t bytes = 0;
  for (const auto &buffer : plan.buffers)
    if (buffer->space == space &&
        (buffer->entry == -1 || (buffer->entry == int(entry) && buffer->begin < at && at < buffer->end)))
      bytes += buffer->bytes;
  return bytes;
}

} // namespace

EntryProfile profileEntry(const plan::PlanT &plan, std::uint32_t entry, plan::Space space) {
  const std::uint32_t count = instructionCount(*plan.entries[entry]);
  std::vector<std::int64_t> change(count + 1, 0);
  std::uint64_t persistent = 0;
  for (const auto &buffer : plan.buffers) {
    if (buffer->space != space)
      continue;
    if (buffer->entry == -1)
      persistent += buffer->bytes;
    else if (buffer->entry == int(entry)) {
      change[buffer->reserved_from == 0 ? buffer->begin : 0] += std::int64_t(buffer->bytes);
      change[buffer->end] -= std::int64_t(buffer->bytes);
      // Reserved in the previous run, until its end.
      if (const std::uint32_t from = std::max(buffer->reserved_from, buffer->end);
          buffer->reserved_from != 0 && from < count)
        change[from] += std::int64_t(buffer->bytes);
    }
  }
  forEachReplacement(plan, entry, space, [&](const plan::BufferT &, std::uint32_t at, std::uint64_t bytes) {
    change[at] -= std::int64_t(bytes);
    change[at + 1] += std::int64_t(bytes);
  });
  EntryProfile profile;
  profile.live.resize(count);
  profile.peakBytes = persistent;
  std::int64_t live = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    live += change[i];
    profile.live[i] = persistent + std::uint64_t(live);
    if (profile.live[i] > profile.peakBytes) {
      profile.peakBytes = profile.live[i];
      profile.peakAt = i;
    }
  }
  return profile;
}

BytesByClass liveByClass(const plan::PlanT &plan, std::uint32_t entry, std::uint32_t instruction, plan::Space space) {
  BytesByClass bytes{};
  for (const auto &buffer : plan.buffers)
    if (buffer->space == space && isLive(*buffer, entry, instruction))
      bytes[std::size_t(buffer->class_)] += buffer->bytes;
  forEachReplacement(plan, entry, space, [&](const plan::BufferT &old, std::uint32_t at, std::uint64_t shared) {
    if (at == instruction)
      bytes[std::size_t(old.class_)] -= shared;
  });
  bytes[std::size_t(plan::BufferClass::workspace)] += workspaceOf(plan, space);
  return bytes;
}

std::vector<std::uint32_t> liveBuffers(const plan::PlanT &plan, std::uint32_t entry, std::uint32_t instruction,
                                       plan::Space space) {
  std::vector<std::uint32_t> live;
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b)
    if (plan.buffers[b]->space == space && isLive(*plan.buffers[b], entry, instruction))
      live.push_back(b);
  std::stable_sort(live.begin(), live.end(),
                   [&](auto a, auto b) { return plan.buffers[a]->bytes > plan.buffers[b]->bytes; });
  return live;
}

PeakPlace findPeak(const plan::PlanT &plan, plan::Space space) {
  PeakPlace peak;
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e) {
    const EntryProfile profile = profileEntry(plan, e, space);
    if (e == 0 || profile.peakBytes > peak.bytes)
      peak = {e, profile.peakAt, profile.peakBytes};
  }
  peak.bytes += workspaceOf(plan, space);
  return peak;
}

std::vector<MemoryPoint> memoryPoints(const plan::PlanT &plan, std::uint32_t entry, plan::Space space) {
  // One past the last instruction of each phase.
  std::array<std::uint32_t, std::size_t(plan::Phase::MAX) + 1> after{};
  forEachInstruction(*plan.entries[entry], [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
    after[std::size_t(instruction.phase)] = i + 1;
  });
  std::vector<MemoryPoint> points;
  points.push_back({"start", liveBetween(plan, entry, 0, space)});
  for (plan::Phase phase : {plan::Phase::forward, plan::Phase::loss, plan::Phase::backward, plan::Phase::update})
    if (const std::uint32_t at = after[std::size_t(phase)])
      points.push_back({std::string("after_") + plan::EnumNamePhase(phase), liveBetween(plan, entry, at, space)});
  points.push_back({"end", liveBetween(plan, entry, instructionCount(*plan.entries[entry]), space)});
  return points;
}

std::string phaseRow(std::span<const plan::Phase> phases, std::size_t columns) {
  std::string row;
  for (std::size_t c = 0; c < columns; ++c)
    row += plan::EnumNamePhase(phases[(2 * c + 1) * phases.size() / (2 * columns)])[0];
  return row;
}

std::uint64_t rankBytes(const plan::PlanT &plan) {
  std::uint64_t bytes = 0;
  for (const auto &arena : plan.arenas)
    bytes += arena->bytes + arena->workspace;
  return bytes;
}

} // namespace sluice
