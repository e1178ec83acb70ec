//===- PackingIntervals.cpp - instants in which the bytes of buffers are reserved ---------===//
#include "passes/solver/PackingIntervals.h"

#include <algorithm>
#include <numeric>

namespace sluice {

std::vector<PackingInterval> intervalsOf(const PackingProblem &problem) {
  std::uint32_t last = 0;
  for (const PackingBuffer &b : problem.buffers)
    last = std::max(last, std::max(b.end, b.reservedFrom == 0 ? 0 : b.reservedFrom + 1));
  std::vector<PackingInterval> intervals;
  for (std::uint32_t id = 0; id < problem.buffers.size(); ++id) {
    const PackingBuffer &b = problem.buffers[id];
    if (b.begin >= b.end)
      continue;
    intervals.push_back({id, b.reservedFrom == 0 ? b.begin : 0, b.end});
    if (b.reservedFrom != 0 && std::max(b.reservedFrom, b.end) < last)
      intervals.push_back({id, std::max(b.reservedFrom, b.end), last});
  }
  return intervals;
}

std::uint32_t dropIdleInstants(std::vector<PackingInterval> &intervals) {
  std::vector<std::uint32_t> instants;
  for (const PackingInterval &s : intervals)
    instants.push_back(s.begin);
  std::sort(instants.begin(), instants.end());
  instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
  const auto numberOf = [&](std::uint32_t instant) {
    return std::uint32_t(std::lower_bound(instants.begin(), instants.end(), instant) - instants.begin());
  };
  for (PackingInterval &s : intervals) {
    s.begin = numberOf(s.begin);
    s.end = numberOf(s.end);
  }
  return std::uint32_t(instants.size());
}

std::vector<std::uint64_t> liveBytes(const PackingProblem &problem, const std::vector<PackingInterval> &intervals,
                                     std::uint64_t alignment) {
  std::vector<std::uint64_t> live(1);
  for (const PackingInterval &s : intervals) {
    const std::uint64_t bytes = alignUp(problem.buffers[s.buffer].bytes, alignment);
    live.resize(std::max<std::size_t>(live.size(), s.end + 1));
    live[s.begin] += bytes;
    live[s.end] -= bytes;
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  return live;
}

std::uint64_t largestLiveSum(const PackingProblem &problem, std::uint64_t alignment) {
  std::vector<PackingInterval> intervals = intervalsOf(problem);
  dropIdleInstants(intervals);
  return std::ranges::max(liveBytes(problem, intervals, alignment));
}

} // namespace sluice
