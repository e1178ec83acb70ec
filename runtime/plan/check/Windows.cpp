//===- Windows.cpp - the bytes of strided views -------------------------------------------===//
//
// See Windows.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Windows.h"

#include <algorithm>

namespace sluice::check {
namespace {

/// Windows of a view that are followed separately.
constexpr std::size_t maxWindows = 4096;

} // namespace

std::optional<std::vector<Window>> windowsOf(const plan::ViewT &view) {
  if (isDense(view)) {
    const std::uint64_t bytes = viewBytes(view).value_or(0);
    return std::vector<Window>{{0, bytes, bytes, 1}};
  }
  Window window;
  window.run = window.period = dtypeBytes(baseType(view.dtype));
  const std::uint64_t element = window.run;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> dims;
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    if (view.shape[d] == 0)
      return std::vector<Window>();
    // A dim that repeats its elements has the bytes of one of them.
    if (view.shape[d] > 1 && view.strides[d] != 0)
      dims.push_back({std::uint64_t(view.strides[d]) * element, std::uint64_t(view.shape[d])});
  }
  std::sort(dims.begin(), dims.end());
  std::vector<Window> windows = {window};
  for (auto [stride, extent] : dims) {
    Window &first = windows.front();
    if (stride < windows.back().end())
      return std::nullopt;
    if (windows.size() == 1 && first.count == 1 && stride == first.run) {
      first.run = first.period = stride * extent;
    } else if (windows.size() == 1 && (first.count == 1 || stride == first.period * first.count)) {
      first.period = first.count == 1 ? stride : first.period;
      first.count *= extent;
    } else {
      const std::size_t inner = windows.size();
      if (extent > maxWindows / inner)
        return std::nullopt;
      for (std::uint64_t k = 1; k < extent; ++k)
        for (std::size_t w = 0; w < inner; ++w) {
          windows.push_back(windows[w]);
          windows.back().begin += k * stride;
        }
    }
  }
  return windows;
}

bool touches(const Window &window, std::uint64_t begin, std::uint64_t end) {
  begin = std::max(begin, window.begin);
  end = std::min(end, window.end());
  const std::uint64_t within = (begin - window.begin) % window.period;
  return within < window.run || end - begin > window.period - within;
}

void Columns::add(const Window &window) {
  const std::uint64_t from = window.begin % period, to = from + std::min(window.run, period);
  parts.push_back({from, std::min(to, period)});
  if (to > period)
    parts.push_back({0, to - period});
  std::sort(parts.begin(), parts.end());
  std::size_t last = 0;
  for (std::size_t p = 1; p < parts.size(); ++p)
    if (parts[p].first <= parts[last].second)
      parts[last].second = std::max(parts[last].second, parts[p].second);
    else
      parts[++last] = parts[p];
  parts.resize(last + 1);
}

bool Columns::hold(std::uint64_t begin, std::uint64_t end) const {
  const auto isIn = [&](std::uint64_t from, std::uint64_t to) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](const auto &part) { return part.first <= from && to <= part.second; });
  };
  if (begin >= end)
    return true;
  if (end - begin >= period)
    return isIn(0, period);
  const std::uint64_t from = begin % period, to = from + (end - begin);
  return to <= period ? isIn(from, to) : isIn(from, period) && isIn(0, to - period);
}

bool Columns::hold(const Window &window, std::uint64_t begin, std::uint64_t end) const {
  begin = std::max(begin, window.begin);
  end = std::min(end, window.end());
  if (window.period != period && window.count > 1)
    return hold(begin, end);
  if (end - begin >= 2 * window.period)
    return hold(window.begin, window.begin + window.run);
  for (std::uint64_t k = (begin - window.begin) / window.period; k < window.count; ++k) {
    const std::uint64_t from = window.begin + k * window.period;
    if (from >= end)
      break;
    if (!hold(std::max(from, begin), std::min(from + window.run, end)))
      return false;
  }
  return true;
}

} // namespace sluice::check
