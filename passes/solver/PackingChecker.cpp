//===- PackingChecker.cpp - verification of a packing -------------------------------===//
#include "passes/solver/PackingChecker.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace sluice {
namespace {

std::string quoted(const PackingBuffer &buffer) { return "'" + buffer.name + "'"; }

std::string range(std::uint64_t begin, std::uint64_t end) {
  return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

} // namespace

Status checkPacking(const PackingProblem &problem, const PackingSolution &solution) {
  const auto &buffers = problem.buffers;
  if (solution.offsets.size() != buffers.size())
    return internalError("offsets of a packing, expected " + std::to_string(buffers.size()) + " but got " +
                         std::to_string(solution.offsets.size()));
  // (instant, 0 end or 1 begin, buffer): ends come before begins at one instant.
  std::vector<std::tuple<std::uint32_t, int, std::size_t>> events;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const std::uint64_t offset = solution.offsets[b];
    if (offset % problem.alignment != 0)
      return internalError("offset of buffer " + quoted(buffers[b]) + ", expected a multiple of " +
                           std::to_string(problem.alignment) + " but got " + std::to_string(offset));
    if (offset > solution.height || buffers[b].bytes > solution.height - offset)
      return internalError("end of buffer " + quoted(buffers[b]) + ", expected at most " +
                           std::to_string(solution.height) + " but got " + std::to_string(offset) + " + " +
                           std::to_string(buffers[b].bytes));
    if (buffers[b].begin >= buffers[b].end || buffers[b].bytes == 0)
      continue;
    if (buffers[b].reservedFrom == 0) {
      events.emplace_back(buffers[b].begin, 1, b);
      events.emplace_back(buffers[b].end, 0, b);
      continue;
    }
    // Reserved early: live at the first instant, and from `reservedFrom` to the last.
    events.emplace_back(0, 1, b);
    if (buffers[b].reservedFrom > buffers[b].end) {
      events.emplace_back(buffers[b].end, 0, b);
      events.emplace_back(buffers[b].reservedFrom, 1, b);
    }
  }
  std::sort(events.begin(), events.end());
  std::map<std::uint64_t, std::size_t> live;
  for (const auto &[instant, begins, b] : events) {
    if (!begins) {
      live.erase(solution.offsets[b]);
      continue;
    }
    const std::uint64_t begin = solution.offsets[b], end = begin + buffers[b].bytes;
    auto above = live.lower_bound(begin);
    const auto overlapError = [&](std::size_t other) {
      const std::uint64_t from = std::max(begin, solution.offsets[other]);
      const std::uint64_t to = std::min(end, solution.offsets[other] + buffers[other].bytes);
      return internalError("buffers " + quoted(buffers[other]) + " and " + quoted(buffers[b]) +
                           ", expected no byte in common at instant " + std::to_string(instant) + " but got bytes " +
                           range(from, to));
    };
    if (above != live.end() && above->first < end)
      return overlapError(above->second);
    if (above != live.begin()) {
      const std::size_t below = std::prev(above)->second;
      if (solution.offsets[below] + buffers[below].bytes > begin)
        return overlapError(below);
    }
    live.emplace(begin, b);
  }
  return Status::ok();
}

} // namespace sluice
