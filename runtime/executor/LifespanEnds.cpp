//===- LifespanEnds.cpp - the bytes whose lifespan ends at each instruction ----------===//
#include "runtime/executor/LifespanEnds.h"

#include <algorithm>
#include <map>

namespace sluice {

std::vector<bool> portBuffers(const plan::PlanT &plan) {
  std::vector<bool> isPort(plan.buffers.size(), false);
  for (const auto &entry : plan.entries)
    for (const auto *ports : {&entry->inputs, &entry->outputs})
      for (const auto &port : *ports)
        isPort[port->view->buffer] = true;
  return isPort;
}

/// Removes [taken.begin, taken.end) from each range.
static void subtract(std::vector<ByteRange> &ranges, ByteRange taken) {
  std::vector<ByteRange> rest;
  for (const ByteRange &range : ranges) {
    if (const std::uint64_t end = std::min(range.end, taken.begin); range.begin < end)
      rest.push_back({range.begin, end});
    if (const std::uint64_t begin = std::max(range.begin, taken.end); begin < range.end)
      rest.push_back({begin, range.end});
  }
  ranges = std::move(rest);
}

std::vector<std::vector<LifespanEnd>> lifespanEnds(const plan::PlanT &plan, std::uint32_t entry, plan::Space space) {
  const std::vector<bool> isPort = portBuffers(plan);
  std::vector<const plan::BufferT *> buffers;
  std::multimap<std::uint32_t, const plan::BufferT *> byBegin;
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b)
    if (const plan::BufferT &buffer = *plan.buffers[b];
        buffer.space == space && !isPort[b] && buffer.entry == static_cast<int>(entry) && buffer.bytes != 0) {
      buffers.push_back(&buffer);
      byBegin.emplace(buffer.begin, &buffer);
    }
  const auto rangeOf = [](const plan::BufferT &buffer) {
    return ByteRange{buffer.offset, buffer.offset + buffer.bytes};
  };
  std::vector<std::vector<LifespanEnd>> ends(instructionCount(*plan.entries[entry]));
  std::uint32_t begin = 0;
  for (const auto &source : plan.entries[entry]->sections) {
    const SectionRange section{begin, begin + static_cast<std::uint32_t>(source->instructions.size())};
    begin = section.end;
    for (const plan::BufferT *buffer : buffers) {
      // Live at the last instruction of the section, and beyond.
      if (section.begin < buffer->begin && buffer->begin < section.end && section.end < buffer->end)
        ends[section.end - 1].push_back({rangeOf(*buffer), /*isInLast=*/false});
      const std::uint32_t last = buffer->end - 1;
      if (last < section.begin || section.end <= last)
        continue;
      std::vector<ByteRange> ranges = {rangeOf(*buffer)};
      // Of two live buffers that share bytes, the second begins at the last instruction of the first.
      if (buffer->begin != last)
        for (auto [other, end] = byBegin.equal_range(last); other != end; ++other)
          if (last + 1 < other->second->end)
            subtract(ranges, rangeOf(*other->second));
      for (const ByteRange &range : ranges)
        ends[last].push_back({range, true, !isLiveAfter(*buffer, last, section, /*isLastRepetition=*/false)});
    }
  }
  return ends;
}

} // namespace sluice
