//===- Blocks.h - a reduction in blocks ------------------------------------------===//
//
// Each member of a group owns a range of every segment and reduces it. The ranges of one owner, one segment after
// another, are cut into blocks that fit a frame: so the memory for what comes from the others is bounded, however long
// the segments are. The cut is the same on every member, and no element's sum depends on it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_PROCESS_BLOCKS_H
#define SLUICE_RUNTIME_COLLECTIVE_PROCESS_BLOCKS_H

#include "runtime/collective/Call.h"

#include <algorithm>

namespace sluice::process {

/// Elements [begin, begin + count) of a segment.
struct BlockPiece {
  std::size_t segment = 0;
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

/// First element of the range that `owner` has of a segment; that of owner + 1 is its end.
inline std::uint64_t ownedBegin(const Call &call, std::size_t segment, int owner, int members) {
  const std::uint64_t count = call.segments[segment].count;
  if (call.kind == CallKind::reduceScatter)
    return count * static_cast<std::uint64_t>(owner);
  return count * static_cast<std::uint64_t>(owner) / static_cast<std::uint64_t>(members);
}

/// Walks the blocks of one owner.
class BlockCursor {
public:
  BlockCursor(const Call &call, int owner, int members) : call(&call), owner(owner), members(members) { settle(); }

  bool atEnd() const { return segment == call->segments.size(); }

  /// Fills `pieces` with the next block, of at most `elements`.
  void next(std::uint64_t elements, std::vector<BlockPiece> &pieces) {
    pieces.clear();
    while (elements != 0 && !atEnd()) {
      const std::uint64_t count = std::min(elements, end - at);
      pieces.push_back({segment, at, count});
      at += count;
      elements -= count;
      if (at == end) {
        ++segment;
        settle();
      }
    }
  }

private:
  /// Goes on to the next segment of which the owner has something.
  void settle() {
    for (; segment < call->segments.size(); ++segment) {
      at = ownedBegin(*call, segment, owner, members);
      end = ownedBegin(*call, segment, owner + 1, members);
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
