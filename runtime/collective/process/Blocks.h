//===- Blocks.h - a collective in blocks -----------------------------------------===//
//
// Each member of a group owns a range of every segment, which it reduces or receives. The ranges of one owner, one
// segment after another, are divided into blocks that fit a frame, so the memory for received data is bounded for
// segments of any length. The division is the same on every member, and no element's sum depends on it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_PROCESS_BLOCKS_H
#define SLUICE_RUNTIME_COLLECTIVE_PROCESS_BLOCKS_H

#include "runtime/collective/Call.h"

#include <algorithm>

namespace sluice::process {

/// Elements [begin, begin + count) of a segment.
struct BlockRange {
  std::size_t segment = 0;
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

/// Walks the blocks of one owner.
class BlockCursor {
public:
  BlockCursor(const Call &call, int owner, int members) : call(&call), owner(owner), members(members) {
    skipEmptySegments();
  }

  bool atEnd() const { return segment == call->segments.size(); }

  /// Fills `ranges` with the next block, of at most `elements`.
  void next(std::uint64_t elements, std::vector<BlockRange> &ranges) {
    ranges.clear();
    while (elements != 0 && !atEnd()) {
      const std::uint64_t count = std::min(elements, end - at);
      ranges.push_back({segment, at, count});
      at += count;
      elements -= count;
      if (at == end) {
        ++segment;
        skipEmptySegments();
      }
    }
  }

private:
  /// Moves to the next segment in which the owner has elements.
  void skipEmptySegments() {
    for (; segment < call->segments.size(); ++segment) {
      at = rangeFrom(*call, segment, owner, members);
      end = rangeFrom(*call, segment, owner + 1, members);
      if (at != end)
        return;
    }
  }

  const Call *call;
  int owner;
  int members;
  std::size_t segment = 0;
  std::uint64_t at = 0;
  std::uint64_t end = 0;
};

} // namespace sluice::process

#endif // SLUICE_RUNTIME_COLLECTIVE_PROCESS_BLOCKS_H
