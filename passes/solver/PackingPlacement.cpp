//===- PackingPlacement.cpp - a partial placement below a capacity ------------------------===//
#include "passes/solver/PackingPlacement.h"

#include <algorithm>

namespace sluice {

PackingPlacement::PackingPlacement(const PackingProblem &problem, std::uint64_t capacity, std::uint64_t steps)
    : top(capacity / problem.alignment * problem.alignment), most(steps), intervals(intervalsOf(problem)),
      first(problem.buffers.size() + 1, 0), offsets(problem.buffers.size(), 0) {
  std::erase_if(intervals, [&](const PackingInterval &s) { return problem.buffers[s.buffer].bytes == 0; });
  instants = dropIdleInstants(intervals);
  for (const PackingInterval &s : intervals)
    ++first[s.buffer + 1];
  for (std::size_t i = 1; i < first.size(); ++i)
    first[i] += first[i - 1];
  for (const PackingBuffer &buffer : problem.buffers)
    sizes.push_back(alignUp(buffer.bytes, problem.alignment));
  lifespans.assign(sizes.size(), 0);
  for (const PackingInterval &s : intervals)
    lifespans[s.buffer] += s.end - s.begin;
}

bool PackingPlacement::start(int stackShare, int longShare) {
  if (!stack(instants / stackShare) || !measurePressure())
    return false;
  longLived = instants / longShare;
  placeLongLived();
  return true;
}

/// Places the stack, and sets the room above it at each instant. False if it exceeds the capacity.
bool PackingPlacement::stack(std::uint32_t leastLifespan) {
  std::vector<std::uint64_t> live(instants, 0);
  for (const PackingInterval &s : intervals)
    for (std::uint32_t t = s.begin; t < s.end; ++t)
      live[t] += sizes[s.buffer];
  const auto fullest = std::uint32_t(std::ranges::max_element(live) - live.begin());
  Ids nested;
  for (std::uint32_t i = 0; i < sizes.size(); ++i)
    if (spansOf(i).size() == 1 && lifespans[i] > leastLifespan && lives(i, fullest, fullest + 1))
      nested.push_back(i);
  std::ranges::stable_sort(nested, [&](std::uint32_t a, std::uint32_t b) { return lifespans[a] > lifespans[b]; });
  isStacked.assign(sizes.size(), false);
  room.assign(instants, top);
  std::uint64_t height = 0;
  PackingInterval outer = {0, 0, instants};
  for (std::uint32_t i : nested) {
    const PackingInterval &s = spansOf(i).front();
    if (s.begin < outer.begin || s.end > outer.end)
      continue;
    outer = s;
    isStacked[i] = true;
    offsets[i] = height;
    height += sizes[i];
    if (height > top)
      return false;
    for (std::uint32_t t = s.begin; t < s.end; ++t)
      room[t] = top - height;
  }
  rest.clear();
  for (std::uint32_t i = 0; i < sizes.size(); ++i)
    if (!isStacked[i] && !spansOf(i).empty()) {
      rest.push_back(i);
      offsets[i] = unplaced;
    }
  return true;
}

/// False if the live bytes of an instant exceed its room.
bool PackingPlacement::measurePressure() {
  pressure.assign(instants, 0);
  for (std::uint32_t i : rest)
    for (const PackingInterval &s : spansOf(i))
      for (std::uint32_t t = s.begin; t < s.end; ++t)
        pressure[t] += double(sizes[i]);
  for (std::uint32_t t = 0; t < instants; ++t) {
    if (pressure[t] > double(room[t]))
      return false;
    pressure[t] = room[t] == 0 ? 0 : pressure[t] / double(room[t]);
  }
  highest.assign(sizes.size(), 0);
  roofs.assign(sizes.size(), top);
  for (std::uint32_t i : rest)
    for (const PackingInterval &s : spansOf(i))
      for (std::uint32_t t = s.begin; t < s.end; ++t) {
        highest[i] = std::max(highest[i], pressure[t]);
        roofs[i] = std::min(roofs[i], room[t]);
      }
  return true;
}

/// Places the buffers that outlive the groups, such as shards of gradients: a group leaves no room for them later.
void PackingPlacement::placeLongLived() {
  Ids order;
  std::ranges::copy_if(rest, std::back_inserter(order), [&](std::uint32_t i) { return lifespans[i] > longLived; });
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return lifespans[a] > lifespans[b]; });
  placeInOrder(order, {}, PackingFit::first);
}

PackingPlacement::Ids PackingPlacement::placeInOrder(const Ids &order, const Ids &near, PackingFit fit) {
  Ids placed = near, failed;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> occupied;
  for (std::uint32_t i : order) {
    occupied.clear();
    for (std::uint32_t j : placed)
      if (overlap(i, j))
        occupied.emplace_back(offsets[j], offsets[j] + sizes[j]);
    std::ranges::sort(occupied);
    std::uint64_t at = 0, gapAt = 0, gap = unplaced;
    for (const auto &[begin, end] : occupied) {
      if (begin >= at + sizes[i] && begin - at < gap) {
        gap = begin - at;
        gapAt = at;
        if (fit == PackingFit::first)
          break;
      }
      at = std::max(at, end);
    }
    if (gap != unplaced)
      at = gapAt;
    offsets[i] = at + sizes[i] <= roofs[i] ? at : unplaced;
    (offsets[i] == unplaced ? failed : placed).push_back(i);
  }
  return failed;
}

PackingPlacement::Ids PackingPlacement::placedBuffers() const {
  Ids placed;
  std::ranges::copy_if(rest, std::back_inserter(placed), [&](std::uint32_t i) { return offsets[i] != unplaced; });
  return placed;
}

PackingSolution PackingPlacement::solution(const PackingProblem &problem) const {
  PackingSolution result;
  result.offsets.assign(sizes.size(), 0);
  for (std::uint32_t i = 0; i < sizes.size(); ++i)
    if (!spansOf(i).empty()) {
      result.offsets[i] = isStacked[i] ? offsets[i] : top - offsets[i] - sizes[i];
      result.height = std::max(result.height, result.offsets[i] + problem.buffers[i].bytes);
    }
  return result;
}

} // namespace sluice
