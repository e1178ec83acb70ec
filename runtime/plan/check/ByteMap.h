//===- ByteMap.h - the last writer and readers of every byte of a space --------------------===//
//
// An interval map over the bytes of one arena. Intervals are split where an access begins or ends, and merged when
// a write covers them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_BYTEMAP_H
#define SLUICE_RUNTIME_PLAN_CHECK_BYTEMAP_H

#include "runtime/plan/check/Access.h"
#include "runtime/plan/check/StreamOrder.h"

#include <map>
#include <memory>
#include <vector>

namespace sluice::check {

/// A run of bytes with one history.
struct Run {
  std::uint64_t end = 0;
  /// The buffer through which the bytes were written; -1: they hold nothing.
  std::int32_t buffer = -1;
  /// Strided views wrote only these columns; null: all bytes were written.
  std::shared_ptr<const Columns> columns;
  Instance writer = before;
  Padding padding = clean;
  /// Since the last write, the latest of each stream.
  std::vector<Instance> readers;
};

class ByteMap {
public:
  using Iterator = std::map<std::uint64_t, Run>::iterator;

  explicit ByteMap(std::uint64_t bytes) {
    if (bytes != 0)
      runs[0].end = bytes;
  }

  /// The first run of [begin, ...), split so that it starts there. `begin` is within the space.
  Iterator splitAt(std::uint64_t begin) {
    auto at = std::prev(runs.upper_bound(begin));
    if (at->first == begin)
      return at;
    Run tail = at->second;
    at->second.end = begin;
    return runs.emplace_hint(std::next(at), begin, std::move(tail));
  }

  /// Calls `visit(begin, run)` for the runs of [begin, end), clipped to the range, until it returns true; returns its
  /// last result.
  template <typename Visit> auto visit(std::uint64_t begin, std::uint64_t end, Visit &&visit) {
    using Outcome = decltype(visit(std::uint64_t(), std::declval<Run &>()));
    if (begin >= end)
      return Outcome();
    auto at = splitAt(begin);
    for (; at != runs.end() && at->first < end; ++at) {
      if (at->second.end > end)
        splitAt(end);
      if (Outcome outcome = visit(at->first, at->second))
        return outcome;
    }
    return Outcome();
  }

  /// The range as one run, all written, with no readers.
  Run &overwrite(std::uint64_t begin, std::uint64_t end) {
    auto at = splitAt(begin);
    if (at->second.end > end)
      splitAt(end);
    auto last = std::next(at);
    while (last != runs.end() && last->first < end)
      ++last;
    runs.erase(std::next(at), last);
    // Runs end within the space or reach beyond `end` only by a split above.
    at->second.end = end;
    at->second.readers.clear();
    at->second.columns.reset();
    return at->second;
  }

private:
  std::map<std::uint64_t, Run> runs;
};

} // namespace sluice::check

#endif // SLUICE_RUNTIME_PLAN_CHECK_BYTEMAP_H
