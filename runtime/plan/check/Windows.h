//===- Windows.h - the bytes of strided views ---------------------------------------------===//
//
// A strided view is a list of windows: equal runs of bytes at equal distances. Runs of one buffer that interleave in
// one period are followed as columns of that period.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_WINDOWS_H
#define SLUICE_RUNTIME_PLAN_CHECK_WINDOWS_H

#include "runtime/plan/Plan.h"

#include <optional>
#include <utility>
#include <vector>

namespace sluice::check {

/// `count` runs of `run` bytes at distances of `period` from `begin`. One run has its own length as period.
struct Window {
  std::uint64_t begin = 0, run = 0, period = 0, count = 1;

  std::uint64_t end() const { return begin + (count - 1) * period + run; }
};

/// The windows of a view in ascending order, relative to its first byte. nullopt if different elements
/// overlap, or if there are too many windows to list.
std::optional<std::vector<Window>> windowsOf(const plan::ViewT &view);

/// True if a byte of [begin, end), which overlaps the range of the window, is one of the window's.
bool touches(const Window &window, std::uint64_t begin, std::uint64_t end);

/// The columns of a period that hold values, in a range of bytes. Column c is every byte at an address of c modulo the
/// period.
class Columns {
public:
  explicit Columns(std::uint64_t period) : period(period) {}

  /// Adds the columns of a window of this period.
  void add(const Window &window);
  /// True if all bytes of [begin, end) hold values.
  bool hold(std::uint64_t begin, std::uint64_t end) const;
  /// True if the bytes of the window in [begin, end), which overlaps its range, hold values.
  bool hold(const Window &window, std::uint64_t begin, std::uint64_t end) const;

  const std::uint64_t period;

private:
  /// Disjoint, in ascending order, not adjacent.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
};

} // namespace sluice::check

#endif // SLUICE_RUNTIME_PLAN_CHECK_WINDOWS_H
