//===- Split.h - cuts a text at the matches of a pattern --------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_SPLIT_H
#define SLUICE_RUNTIME_TEXT_SPLIT_H

#include <cstddef>
#include <vector>

namespace sluice::text {

/// Bytes [begin, end) of a text.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  bool operator==(const Range &) const = default;
};

/// The use of a match: its removal, a separate part, a part with the text before or after it, or a part with the
/// adjacent matches.
enum class SplitBehavior { removed, isolated, mergedWithPrevious, mergedWithNext, contiguous };

/// The parts of a text of `size` bytes, without empty ones. `matches` are sorted and do not overlap. `invert`: the text
/// between the matches is the delimiter.
std::vector<Range> splitAt(std::size_t size, const std::vector<Range> &matches, SplitBehavior behavior, bool invert);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_SPLIT_H
