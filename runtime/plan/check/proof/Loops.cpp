//===- Loops.cpp - windows of buffers as nested loops --------------------------------------===//
#include "runtime/plan/check/proof/Loops.h"

#include <algorithm>

namespace sluice::check::proof {

std::int64_t spanOf(std::span<const Loop> loops) {
  std::int64_t span = 1;
  for (const Loop &loop : loops)
    span += (loop.extent - 1) * loop.stride;
  return span;
}

bool normalize(std::vector<Loop> &loops, std::span<const Bound> bounds) {
  std::erase_if(loops, [](const Loop &loop) { return loop.extent == 1; });
  // Loops of one stride are refused below, so their order does not matter.
  std::sort(loops.begin(), loops.end(), [](const Loop &a, const Loop &b) { return a.stride > b.stride; });
  std::size_t count = 0;
  for (const Loop loop : loops) {
    if (loop.stride < 1)
      return false;
    Loop *outer = count == 0 ? nullptr : &loops[count - 1];
    if (outer && outer->stride == loop.stride * loop.extent && outer->step == loop.step * loop.extent &&
        std::ranges::none_of(bounds, [&](const Bound &own) { return own.separates(outer->step, loop.step); }))
      *outer = {outer->extent * loop.extent, loop.stride, loop.step};
    else
      loops[count++] = loop;
  }
  loops.resize(count);
  for (std::size_t k = 0; k + 1 < loops.size(); ++k)
    if (spanOf(std::span(loops).subspan(k + 1)) > loops[k].stride)
      return false;
  return true;
}

namespace {

/// A window as runs of contiguous elements at multiples of a period.
struct Period {
  std::int64_t run = 1, period = 0;
  bool isRegular = true;
};

Period periodOf(const std::vector<Loop> &loops) {
  Period result;
  for (std::size_t k = loops.size(); k-- > 0;) {
    if (result.period == 0 && loops[k].stride == result.run)
      result.run *= loops[k].extent;
    else if (result.period == 0)
      result.period = loops[k].stride;
    else
      result.isRegular = result.isRegular && loops[k].stride % result.period == 0;
  }
  return result;
}

} // namespace

bool areDisjoint(std::int64_t a, const std::vector<Loop> &first, std::int64_t b, const std::vector<Loop> &second) {
  if (a + spanOf(first) <= b || b + spanOf(second) <= a)
    return true;
  Period x = periodOf(first), y = periodOf(second);
  // A single run fits into the period of the other window.
  if (x.period == 0)
    x.period = y.period;
  if (y.period == 0)
    y.period = x.period;
  if (!x.isRegular || !y.isRegular || x.period == 0 || x.period != y.period)
    return false;
  const std::int64_t gap = ((b - a) % x.period + x.period) % x.period;
  return gap >= x.run && gap + y.run <= x.period;
}

void completeLoops(std::vector<Loop> &loops, const std::vector<Loop> &like) {
  for (std::size_t k = 0; k < like.size() && loops.size() + 1 == like.size(); ++k)
    if (k >= loops.size() || loops[k].stride != like[k].stride)
      loops.insert(loops.begin() + std::ptrdiff_t(k), {1, like[k].stride, like[k].step});
}

} // namespace sluice::check::proof
