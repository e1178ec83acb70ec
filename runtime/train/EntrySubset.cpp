//===- EntrySubset.cpp - a plan with some of its entry points ----------------------===//
#include "runtime/train/EntrySubset.h"
#include "runtime/plan/Profile.h"

#include <algorithm>

namespace sluice {

/// Leaves the buffer in its place in the list, which numbers it.
static void clear(plan::BufferT &buffer) {
  buffer.entry = 0;
  buffer.bytes = buffer.offset = 0;
  buffer.begin = buffer.end = buffer.reserved_from = 0;
}

void keepEntries(plan::PlanT &plan, std::span<const std::string> names) {
  // For each entry point its new index; -1: removed.
  std::vector<int> kept;
  int count = 0;
  for (const auto &entry : plan.entries)
    kept.push_back(std::ranges::find(names, entry->name) != names.end() ? count++ : -1);
  std::erase_if(plan.entries, [&](const auto &entry) { return std::ranges::find(names, entry->name) == names.end(); });

  for (const auto &buffer : plan.buffers)
    if (buffer->entry >= 0 && kept[static_cast<std::size_t>(buffer->entry)] >= 0)
      buffer->entry = kept[static_cast<std::size_t>(buffer->entry)];
    else if (buffer->entry >= 0)
      clear(*buffer);

  for (const auto &stream : plan.streams)
    stream->workspace = 0;
  for (const auto &entry : plan.entries)
    forEachInstruction(*entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
      if (const plan::LaunchT *launch = instruction.operation.AsLaunch())
        plan.streams[instruction.stream]->workspace =
            std::max(plan.streams[instruction.stream]->workspace, launch->workspace);
    });

  for (const auto &arena : plan.arenas) {
    std::uint64_t end = arena->persistent;
    for (const auto &buffer : plan.buffers)
      if (buffer->space == arena->space)
        end = std::max(end, buffer->offset + buffer->bytes);
    arena->bytes = end;
    arena->workspace = 0;
    for (const auto &stream : plan.streams)
      if ((stream->processor == plan::Processor::host) == (arena->space == plan::Space::host))
        arena->workspace += stream->workspace;
    arena->peak_live = 0;
    for (std::uint32_t e = 0; e < plan.entries.size(); ++e)
      arena->peak_live = std::max(arena->peak_live, profileEntry(plan, e, arena->space).peakBytes);
  }
}

} // namespace sluice
