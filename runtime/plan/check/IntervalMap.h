//===- IntervalMap.h - a value for every byte of a range ---------------------------------------===//
//
// Runs of bytes with one value, in order. Runs are split where an access begins or ends, and merged when a write covers
// them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_INTERVALMAP_H
#define SLUICE_RUNTIME_PLAN_CHECK_INTERVALMAP_H

#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace sluice::check {

/// `Run` is the value, and has the member `end`: one past its last byte.
template <typename Run> class IntervalMap {
public:
  using Iterator = typename std::map<std::uint64_t, Run>::iterator;

  /// Of the bytes [0, bytes), with the default value.
  explicit IntervalMap(std::uint64_t bytes) {
    if (bytes != 0)
      runs[0].end = bytes;
  }

  /// Calls `visit(begin, run)` for the runs of [begin, end), split at the ends of the range, until it returns true;
  /// returns its last result.
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

  /// Calls `visit(run)` for the runs that have a byte of [begin, end).
  template <typename Visit> void read(std::uint64_t begin, std::uint64_t end, Visit &&visit) const {
    if (begin >= end)
      return;
    for (auto at = std::prev(runs.upper_bound(begin)); at != runs.end() && at->first < end; ++at)
      visit(at->second);
  }

  /// Makes [begin, end), which is not empty, one run, with the value of its first byte.
  Run &merge(std::uint64_t begin, std::uint64_t end) {
    auto at = splitAt(begin);
    if (at->second.end > end)
      splitAt(end);
    auto last = std::next(at);
    while (last != runs.end() && last->first < end)
      ++last;
    runs.erase(std::next(at), last);
    at->second.end = end;
    return at->second;
  }

private:
  /// The run that begins at a byte of the range, after a split if necessary.
  Iterator splitAt(std::uint64_t begin) {
    auto at = std::prev(runs.upper_bound(begin));
    if (at->first == begin)
      return at;
    Run tail = at->second;
    at->second.end = begin;
    return runs.emplace_hint(std::next(at), begin, std::move(tail));
  }

  std::map<std::uint64_t, Run> runs;
};

} // namespace sluice::check

#endif // SLUICE_RUNTIME_PLAN_CHECK_INTERVALMAP_H
