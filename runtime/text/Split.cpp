//===- Split.cpp - cuts a text at the matches of a pattern ------------------------------===//
#include "runtime/text/Split.h"

#include <algorithm>

namespace sluice::text {
namespace {

struct Part {
  Range range;
  bool isDelimiter;
};

} // namespace

static std::vector<Part> partsOf(std::size_t size, const std::vector<Range> &matches, bool invert) {
  std::vector<Part> parts;
  std::size_t end = 0;
  for (const Range &match : matches) {
    if (match.begin != end)
      parts.push_back({{end, match.begin}, invert});
    parts.push_back({match, !invert});
    end = match.end;
  }
  if (end != size)
    parts.push_back({{end, size}, invert});
  return parts;
}

std::vector<Range> splitAt(std::size_t size, const std::vector<Range> &matches, SplitBehavior behavior, bool invert) {
  std::vector<Part> parts = partsOf(size, matches, invert);
  // From the end, a delimiter before a text is one after it.
  const bool backwards = behavior == SplitBehavior::mergedWithNext;
  if (backwards)
    std::reverse(parts.begin(), parts.end());
  std::vector<Range> ranges;
  bool afterDelimiter = false;
  for (const Part &part : parts) {
    bool merges = false;
    if (behavior == SplitBehavior::contiguous)
      merges = part.isDelimiter == afterDelimiter;
    else if (behavior == SplitBehavior::mergedWithPrevious || backwards)
      merges = part.isDelimiter && !afterDelimiter;
    afterDelimiter = part.isDelimiter;
    if (behavior == SplitBehavior::removed && part.isDelimiter)
      continue;
    if (merges && !ranges.empty())
      ranges.back() = {std::min(ranges.back().begin, part.range.begin), std::max(ranges.back().end, part.range.end)};
    else
      ranges.push_back(part.range);
  }
  if (backwards)
    std::reverse(ranges.begin(), ranges.end());
  std::erase_if(ranges, [](const Range &range) { return range.begin == range.end; });
  return ranges;
}

} // namespace sluice::text
