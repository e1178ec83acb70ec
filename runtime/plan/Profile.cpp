//===- Profile.cpp - live bytes over a step, computed from the plan ------------------------===//
//
// See Profile.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Profile.h"

#include <algorithm>
#include <map>
#include <numeric>

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
  std::multimap<std::uint32_t, const plan::BufferT *> begins;
  for (const auto &buffer : plan.buffers)
    if (buffer->entry == int(entry) && buffer->space == space)
      begins.emplace(buffer->begin, buffer.get());
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
    const plan::BufferT &buffer = *plan.buffers[b];
    if (buffer.entry != int(entry) || buffer.space != space)
      continue;
    for (auto [at, end] = begins.equal_range(buffer.end - 1); at != end; ++at)
      if (at->second != &buffer)
        if (const std::uint64_t bytes = overlap(buffer, *at->second))
          visit(b, buffer.end - 1, bytes);
  }
}

std::uint64_t workspaceOf(const plan::PlanT &plan, plan::Space space) {
  const plan::ArenaT *arena = arenaOf(plan, space);
  return arena ? arena->workspace : 0;
}

/// Adds up live bytes by class and unit.
class LiveSum {
public:
  explicit LiveSum(const plan::PlanT &plan) : plan(plan), units(unitsOfBuffers(plan)) {
    live.byUnit.resize(plan.units.size() + 1);
  }
  void add(std::uint32_t buffer, std::uint64_t bytes) {
    live.bytes += bytes;
    live.byClass[std::size_t(plan.buffers[buffer]->class_)] += bytes;
    live.byUnit[units[buffer]] += bytes;
  }
  void addWorkspace(std::uint64_t bytes) {
    live.bytes += bytes;
    live.byClass[std::size_t(plan::BufferClass::workspace)] += bytes;
    live.byUnit.back() += bytes;
  }
  LiveBytes take() { return std::move(live); }

private:
  const plan::PlanT &plan;
  const std::vector<std::uint32_t> units;
  LiveBytes live;
};

/// Live between instruction `at - 1` and instruction `at`.
LiveBytes liveBetween(const plan::PlanT &plan, std::uint32_t entry, std::uint32_t at, plan::Space space) {
  LiveSum sum(plan);
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
    const plan::BufferT &buffer = *plan.buffers[b];
    if (buffer.space == space &&
        (buffer.entry == -1 || (buffer.entry == int(entry) && buffer.begin < at && at < buffer.end)))
      sum.add(b, buffer.bytes);
  }
  return sum.take();
}

} // namespace

std::vector<BytesByClass> profileByClass(const plan::PlanT &plan, std::uint32_t entry, plan::Space space) {
  const std::uint32_t count = instructionCount(*plan.entries[entry]);
  std::vector<std::array<std::int64_t, bufferClassCount>> change(count + 1);
  BytesByClass live{};
  for (const auto &buffer : plan.buffers) {
    const auto c = std::size_t(buffer->class_);
    if (buffer->space != space)
      continue;
    if (buffer->entry == -1)
      live[c] += buffer->bytes;
    else if (buffer->entry == int(entry)) {
      change[buffer->reserved_from == 0 ? buffer->begin : 0][c] += std::int64_t(buffer->bytes);
      change[buffer->end][c] -= std::int64_t(buffer->bytes);
      // Reserved in the previous run, until its end.
      if (const std::uint32_t from = std::max(buffer->reserved_from, buffer->end);
          buffer->reserved_from != 0 && from < count)
        change[from][c] += std::int64_t(buffer->bytes);
    }
  }
  forEachReplacement(plan, entry, space, [&](std::uint32_t old, std::uint32_t at, std::uint64_t bytes) {
    const auto c = std::size_t(plan.buffers[old]->class_);
    change[at][c] -= std::int64_t(bytes);
    change[at + 1][c] += std::int64_t(bytes);
  });
  std::vector<BytesByClass> profile(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < bufferClassCount; ++c)
      live[c] += std::uint64_t(change[i][c]);
    profile[i] = live;
  }
  return profile;
}

EntryProfile profileEntry(const plan::PlanT &plan, std::uint32_t entry, plan::Space space) {
  EntryProfile profile;
  for (const auto &buffer : plan.buffers)
    profile.peakBytes += buffer->space == space && buffer->entry == -1 ? buffer->bytes : 0;
  for (const BytesByClass &classes : profileByClass(plan, entry, space)) {
    profile.live.push_back(std::accumulate(classes.begin(), classes.end(), std::uint64_t(0)));
    if (profile.live.back() > profile.peakBytes) {
      profile.peakBytes = profile.live.back();
      profile.peakAt = std::uint32_t(profile.live.size() - 1);
    }
  }
  return profile;
}

std::vector<std::uint32_t> unitsOfBuffers(const plan::PlanT &plan) {
  const auto none = static_cast<std::uint32_t>(plan.units.size());
  std::vector<std::uint32_t> units(plan.buffers.size(), none);
  const auto set = [&](std::uint32_t buffer, int unit) {
    if (units[buffer] == none && unit >= 0)
      units[buffer] = static_cast<std::uint32_t>(unit);
  };
  for (const auto &parameter : plan.parameters) {
    set(parameter->buffer, static_cast<int>(parameter->unit));
    for (const auto &state : parameter->states)
      set(state->buffer, static_cast<int>(parameter->unit));
  }
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b)
    set(b, plan.buffers[b]->unit);
  std::vector<bool> isWritten(plan.buffers.size(), false);
  for (const auto &entry : plan.entries)
    forEachInstruction(*entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
      forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
        if (isWrite && !isWritten[view.buffer]) {
          isWritten[view.buffer] = true;
          set(view.buffer, instruction.unit);
        }
      });
    });
  return units;
}

LiveBytes liveAt(const plan::PlanT &plan, std::uint32_t entry, std::uint32_t instruction, plan::Space space) {
  std::vector<std::uint64_t> bytes(plan.buffers.size(), 0);
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b)
    if (plan.buffers[b]->space == space && isLive(*plan.buffers[b], entry, instruction))
      bytes[b] = plan.buffers[b]->bytes;
  forEachReplacement(plan, entry, space, [&](std::uint32_t old, std::uint32_t at, std::uint64_t shared) {
    if (at == instruction)
      bytes[old] -= shared;
  });
  LiveSum sum(plan);
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b)
    sum.add(b, bytes[b]);
  sum.addWorkspace(workspaceOf(plan, space));
  return sum.take();
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

PeakPlace findPeak(const plan::PlanT &plan, std::uint32_t entry, plan::Space space) {
  const EntryProfile profile = profileEntry(plan, entry, space);
  return {entry, profile.peakAt, profile.peakBytes + workspaceOf(plan, space)};
}

PeakPlace findPeak(const plan::PlanT &plan, plan::Space space) {
  PeakPlace most;
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e)
    if (const PeakPlace peak = findPeak(plan, e, space); e == 0 || peak.bytes > most.bytes)
      most = peak;
  return most;
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

std::uint64_t entryFlops(const plan::EntryT &entry) {
  std::uint64_t flops = 0;
  for (const auto &section : entry.sections)
    for (const auto &instruction : section->instructions) {
      const plan::LaunchT *launch = instruction->operation.AsLaunch();
      for (std::uint32_t repetition = 0; launch && !instruction->recompute && repetition < section->repeat;
           ++repetition)
        flops += isIssued(*instruction, repetition, section->repeat) ? launch->flops : 0;
    }
  return flops;
}

DType flopsType(const plan::EntryT &entry) {
  std::array<std::uint64_t, dtypeCount> flops{};
  forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
    if (const plan::LaunchT *launch = instruction.operation.AsLaunch(); launch && !launch->inputs.empty())
      flops[std::size_t(launch->inputs[0]->dtype)] += launch->flops;
  });
  return static_cast<DType>(std::ranges::max_element(flops) - flops.begin());
}

std::uint64_t rankBytes(const plan::PlanT &plan) {
  std::uint64_t bytes = 0;
  for (const auto &arena : plan.arenas)
    bytes += arena->bytes + arena->workspace;
  return bytes;
}

} // namespace sluice
