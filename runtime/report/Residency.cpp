//===- Residency.cpp - why buffers of a plan are in memory -------------------------------------===//
#include "runtime/report/Residency.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <set>

namespace sluice {
namespace {

bool isLiveAt(const plan::BufferT &buffer, std::uint32_t instruction) {
  return buffer.begin <= instruction && instruction < buffer.end;
}

std::string reasonOf(const plan::PlanT &plan, const plan::EntryT &entry, const RecomputeRegion &region,
                     std::uint32_t peak) {
  if (region.begin <= peak && peak < region.resultsEnd)
    return "the peak is in its backward, where " + formatBytes(region.resultBytesAtPeak) +
           " of its recomputed values are live again";
  // Without recomputation its values would be live from the forward of the unit to its backward.
  std::uint32_t forward = region.begin;
  forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
    if (instruction.unit == region.unit && instruction.operation.AsLaunch() && !instruction.recompute)
      forward = std::min(forward, i);
  });
  if (peak < forward || peak >= region.resultsEnd)
    return concat("the peak is ", peak < forward ? "before its forward" : "after its backward",
                  ", where its values would not be live without recomputation either");
  if (region.keptBytes >= region.resultBytes)
    return "the values that it reads, which are kept from the forward, are as large as those that it recomputes";
  return "";
}

} // namespace

std::vector<Accesses> accessesOf(const plan::PlanT &plan, std::uint32_t entry) {
  std::vector<Accesses> accesses(plan.buffers.size());
  forEachInstruction(*plan.entries[entry], [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
    forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
      Accesses &of = accesses[view.buffer];
      if (!isWrite)
        of.lastRead = i;
      else if (!of.firstWrite)
        of.firstWrite = i;
    });
  });
  return accesses;
}

std::vector<std::vector<GatheredInterval>> gatheredIntervals(const plan::PlanT &plan, std::uint32_t entry) {
  std::vector<std::vector<const plan::BufferT *>> buffers(plan.units.size());
  for (const auto &buffer : plan.buffers)
    if (buffer->class_ == plan::BufferClass::gathered && buffer->entry == int(entry) && buffer->unit >= 0 &&
        buffer->space == plan::Space::device)
      buffers[std::size_t(buffer->unit)].push_back(buffer.get());
  std::vector<std::vector<GatheredInterval>> intervals(plan.units.size());
  for (std::size_t u = 0; u < buffers.size(); ++u) {
    std::ranges::stable_sort(buffers[u], {}, &plan::BufferT::begin);
    for (const plan::BufferT *buffer : buffers[u]) {
      std::vector<GatheredInterval> &of = intervals[u];
      if (of.empty() || of.back().end <= buffer->begin)
        of.push_back({buffer->begin, buffer->end, 0});
      of.back().end = std::max(of.back().end, buffer->end);
    }
    for (GatheredInterval &interval : intervals[u])
      for (const plan::BufferT *at : buffers[u]) {
        // The most live bytes are at the begin of a buffer.
        std::uint64_t bytes = 0;
        for (const plan::BufferT *other : buffers[u])
          bytes += isLiveAt(*other, at->begin) ? other->bytes : 0;
        if (interval.begin <= at->begin && at->begin < interval.end)
          interval.bytes = std::max(interval.bytes, bytes);
      }
  }
  return intervals;
}

std::vector<RecomputeRegion> recomputeRegions(const plan::PlanT &plan, std::uint32_t entry, std::uint32_t peak) {
  const std::vector<Accesses> accesses = accessesOf(plan, entry);
  const plan::EntryT &of = *plan.entries[entry];
  std::vector<RecomputeRegion> regions;
  std::vector<std::set<std::uint32_t>> results, reads;
  forEachInstruction(of, [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
    if (!instruction.recompute || !instruction.operation.AsLaunch())
      return;
    if (regions.empty() || regions.back().unit != instruction.unit) {
      regions.emplace_back();
      regions.back().unit = instruction.unit;
      regions.back().begin = i;
      results.emplace_back();
      reads.emplace_back();
    }
    regions.back().end = i + 1;
    ++regions.back().launches;
    forEachView(instruction,
                [&](const plan::ViewT &view, bool isWrite) { (isWrite ? results : reads).back().insert(view.buffer); });
  });
  for (std::size_t r = 0; r < regions.size(); ++r) {
    RecomputeRegion &region = regions[r];
    region.resultsEnd = region.end;
    for (const std::uint32_t b : results[r]) {
      const plan::BufferT &buffer = *plan.buffers[b];
      if (buffer.entry < 0 || accesses[b].firstWrite < region.begin)
        continue;
      region.results.push_back(b);
      region.resultBytes += buffer.bytes;
      region.resultBytesAtPeak += isLiveAt(buffer, peak) ? buffer.bytes : 0;
      region.resultsEnd = std::max(region.resultsEnd, buffer.end);
    }
    for (const std::uint32_t b : reads[r]) {
      const plan::BufferT &buffer = *plan.buffers[b];
      if (buffer.entry < 0 || buffer.class_ == plan::BufferClass::gathered || !accesses[b].firstWrite ||
          instructionAt(of, *accesses[b].firstWrite)->phase != plan::Phase::forward)
        continue;
      region.kept.push_back(b);
      region.keptBytes += buffer.bytes;
      region.keptBytesAtPeak += isLiveAt(buffer, peak) ? buffer.bytes : 0;
    }
    region.reason = reasonOf(plan, of, region, peak);
  }
  return regions;
}

} // namespace sluice
