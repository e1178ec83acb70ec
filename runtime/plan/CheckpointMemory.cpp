//===- CheckpointMemory.cpp - host memory of a rank that writes checkpoints -------===//
#include "runtime/plan/CheckpointMemory.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace sluice {

/// Of the copies of ranges.
static constexpr std::uint64_t alignment = 64;
/// Ranges with fewer bytes between them are copied as one.
static constexpr std::uint64_t smallGap = 4096;

/// The axes along which the rank is not the first one.
static std::vector<std::uint32_t> laterAxes(const plan::PlanT &plan, std::uint32_t rank) {
  std::vector<std::uint32_t> axes;
  for (std::uint32_t axis = 0; axis < plan.mesh.size(); ++axis)
    if (coordinateAlong(plan, rank, {&axis, 1}) != 0)
      axes.push_back(axis);
  return axes;
}

static bool writesParameter(const plan::ParameterT &parameter, const std::vector<std::uint32_t> &later) {
  const std::vector<std::uint32_t> axes = shardAxes(parameter);
  return std::ranges::all_of(later, [&](std::uint32_t axis) { return std::ranges::count(axes, axis) != 0; });
}

bool writesParameter(const plan::PlanT &plan, const plan::ParameterT &parameter, std::uint32_t rank) {
  return writesParameter(parameter, laterAxes(plan, rank));
}

std::optional<std::uint64_t> CheckpointMemory::copyOf(const plan::BufferT &buffer) const {
  for (const CopiedRange &range : ranges)
    if (range.space == buffer.space && range.begin <= buffer.offset && buffer.offset + buffer.bytes <= range.end)
      return range.copy + (buffer.offset - range.begin);
  return std::nullopt;
}

static CheckpointMemory memoryOf(const plan::PlanT &plan, const std::vector<std::uint32_t> &later) {
  std::vector<CopiedRange> buffers;
  const auto add = [&](std::uint32_t index) {
    const plan::BufferT &buffer = *plan.buffers[index];
    buffers.push_back({buffer.space, buffer.offset, buffer.offset + buffer.bytes, 0});
  };
  for (const auto &parameter : plan.parameters)
    if (writesParameter(*parameter, later)) {
      add(parameter->buffer);
      for (const auto &state : parameter->states)
        add(state->buffer);
    }
  for (const auto &variable : plan.variables)
    add(variable->buffer);
  std::ranges::sort(buffers, {}, [](const CopiedRange &range) { return std::tuple(range.space, range.begin); });
  CheckpointMemory memory;
  memory.block = checkpointBlock;
  for (const CopiedRange &buffer : buffers) {
    if (!memory.ranges.empty() && memory.ranges.back().space == buffer.space &&
        buffer.begin < memory.ranges.back().end + smallGap)
      memory.ranges.back().end = std::max(memory.ranges.back().end, buffer.end);
    else
      memory.ranges.push_back(buffer);
  }
  for (CopiedRange &range : memory.ranges) {
    range.copy = (memory.bytes() + alignment - 1) / alignment * alignment;
    memory.copy = range.copy + (range.end - range.begin) - checkpointBlock;
  }
  return memory;
}

CheckpointMemory checkpointMemory(const plan::PlanT &plan, std::uint32_t rank) {
  return memoryOf(plan, laterAxes(plan, rank));
}

std::uint64_t checkpointPages(const plan::PlanT &plan, std::uint64_t ranks, std::uint64_t pageBytes) {
  // There are few different ones, and may be many ranks.
  std::map<std::vector<std::uint32_t>, std::uint64_t> known;
  std::uint64_t bytes = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const auto [at, isNew] = known.try_emplace(laterAxes(plan, rank));
    if (isNew)
      at->second = (memoryOf(plan, at->first).bytes() + pageBytes - 1) / pageBytes * pageBytes;
    bytes += at->second;
  }
  return bytes;
}

} // namespace sluice
