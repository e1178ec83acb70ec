//===- Contents.cpp - what the buffers hold in terms of the unsharded program ---------------===//
//
// See Contents.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/Contents.h"

#include <algorithm>
#include <tuple>

namespace sluice::check::proof {
namespace {

/// Facts that are read as one tensor with padding, at most: a limit of the time of a read.
constexpr std::size_t maxParts = 64;
/// Facts about one buffer, at most: a limit of the time of a write. Plans of Llama 405B have three.
constexpr std::size_t maxFacts = 512;

/// Joins `next` to `fact`, which has no repetitions, if they are neighbours along one loop.
bool join(Fact &fact, const Fact &next) {
  if (fact.dtype != next.dtype || next.repetitionStride != 0 || !(fact.meaning == next.meaning))
    return false;
  const Fact &low = fact.offset <= next.offset ? fact : next, &high = fact.offset <= next.offset ? next : fact;
  const std::int64_t distance = high.offset - low.offset, indices = high.base - low.base;
  if (indices < 0)
    return false;
  std::vector<Loop> a = low.loops, b = high.loops;
  completeLoops(a, b);
  completeLoops(b, a);
  if (a.empty() && b.empty()) {
    a = {{1, distance, indices}};
    b = a;
  }
  if (a.size() != b.size())
    return false;
  std::optional<std::size_t> along;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].stride != b[k].stride || a[k].step != b[k].step)
      return false;
    if (a[k].stride * a[k].extent == distance && a[k].step * a[k].extent == indices) {
      bool isOnly = true;
      for (std::size_t other = 0; other < a.size(); ++other)
        isOnly = isOnly && (other == k || a[other].extent == b[other].extent);
      if (isOnly)
        along = k;
    }
  }
  if (!along)
    return false;
  // The elements of both are at the same places in each level.
  const std::vector<Bound> &bounds = fact.meaning.bounds;
  for (const Bound &bound : bounds)
    if (levelBase(bounds, bound.end, high.base) !=
        levelBase(bounds, bound.end, low.base) + (a[*along].step < bound.end ? indices : 0))
      return false;
  a[*along].extent += b[*along].extent;
  if (!normalize(a, fact.meaning.bounds))
    return false;
  fact.offset = low.offset;
  fact.base = low.base;
  fact.loops = std::move(a);
  fact.stored.add(next.stored);
  return true;
}

/// Finds the elements of a view in the loops of a fact.
class Locator {
public:
  Locator(const Fact &fact, std::int64_t elements) : fact(fact), elements(elements), used(fact.loops.size()) {}

  bool start(std::int64_t offset) {
    std::int64_t left = offset - fact.offset;
    base = fact.base;
    for (std::size_t k = 0; k < fact.loops.size(); ++k) {
      used[k] = left / fact.loops[k].stride;
      if (used[k] >= fact.loops[k].extent)
        return false;
      left -= used[k] * fact.loops[k].stride;
      base += used[k] * fact.loops[k].step;
    }
    // The first element is at its place in each level.
    const std::vector<Bound> &bounds = fact.meaning.bounds;
    const bool isPlaced = std::ranges::all_of(bounds, [&](const Bound &bound) {
      std::int64_t place = levelBase(bounds, bound.end, fact.base);
      for (std::size_t k = 0; k < fact.loops.size(); ++k)
        place += fact.loops[k].step < bound.end ? used[k] * fact.loops[k].step : 0;
      return place == levelBase(bounds, bound.end, base);
    });
    return left == 0 && isPlaced;
  }
  /// Appends the digits of `extent` elements at distance `stride`.
  bool add(std::int64_t extent, std::int64_t stride, Digits &digits) {
    if (extent == 1)
      return true;
    if (stride == 0) {
      digits.push_back({extent, 0});
      return true;
    }
    std::size_t k = 0;
    while (k < fact.loops.size() && fact.loops[k].stride > stride)
      ++k;
    if (k == fact.loops.size() || stride % fact.loops[k].stride != 0)
      return false;
    const std::int64_t multiple = stride / fact.loops[k].stride;
    if (k > 0 && extent * stride > fact.loops[k - 1].stride) {
      // The elements continue in the next outer loop.
      const std::int64_t outer = fact.loops[k - 1].stride, count = outer / stride;
      if (outer % stride != 0 || extent % count != 0)
        return false;
      return add(extent / count, outer, digits) && add(count, stride, digits);
    }
    // A bound limits the sum of the digits with steps below its end, so that of the loop may not pass the end.
    const std::int64_t inner = fact.loops[k].step, step = multiple * inner;
    if (std::ranges::any_of(fact.meaning.bounds, [&](const Bound &bound) { return bound.separates(step, inner); }))
      return false;
    used[k] += multiple * (extent - 1);
    digits.push_back({extent, step});
    return true;
  }
  /// The last element is in the fact; with `padding`, or all elements past the outermost loop are padding.
  bool fits(bool padding) const {
    for (std::size_t k = 0; k < fact.loops.size(); ++k)
      if (used[k] >= fact.loops[k].extent &&
          (!padding || k != 0 || fact.base + fact.loops[0].extent * fact.loops[0].step < elements))
        return false;
    return true;
  }
  std::int64_t base = 0;

private:
  const Fact &fact;
  std::int64_t elements;
  /// The largest repetition of each loop that the view reads.
  std::vector<std::int64_t> used;
};

std::int64_t bytesOf(plan::DType dtype) { return std::int64_t(dtypeBytes(baseType(dtype))); }

bool touches(const Fact &fact, const plan::ViewT &view) {
  const std::int64_t begin = std::int64_t(view.offset), end = begin + std::int64_t(viewBytes(view).value_or(0)),
                     at = fact.offset * bytesOf(fact.dtype), size = spanOf(fact.loops) * bytesOf(fact.dtype);
  return at < end && at + size > begin;
}

bool isEmpty(const plan::ViewT &view) {
  return std::ranges::any_of(view.shape, [](std::int64_t extent) { return extent < 1; });
}

/// Calls `visit` with each dim of a view, the innermost first, and its stride.
template <typename Visit> void forEachDim(const plan::ViewT &view, const Visit &visit) {
  std::int64_t dense = 1;
  for (std::size_t d = view.shape.size(); d-- > 0; dense *= view.shape[d])
    visit(d, view.strides.empty() ? dense : view.strides[d]);
}

} // namespace

bool Reading::hasElementsOf(const Reading &other) const {
  const auto places = [](const Reading &own) {
    return std::tie(own.meaning.part, own.at.base, own.meaning.steps, own.meaning.bounds);
  };
  return places(*this) == places(other) && (at.dims == other.at.dims || flattened(at) == flattened(other.at));
}

bool Contents::uniteBounds(Fact &a, Fact &b) const {
  if (a.meaning.bounds == b.meaning.bounds)
    return true;
  std::vector<Bound> all;
  std::ranges::set_union(a.meaning.bounds, b.meaning.bounds, std::back_inserter(all));
  const auto add = [&](Fact &fact, const Fact &other) {
    Shard shard{{fact.base, {{}}}, fact.meaning.steps, all};
    for (const Loop &loop : fact.loops)
      shard.at.dims[0].push_back({loop.extent, loop.step});
    simplify(shard, sizes);
    if (shard.bounds != fact.meaning.bounds)
      return false;
    // There is no padding past the end of a bound that is added.
    for (std::int64_t end : other.meaning.zeros)
      if (std::ranges::find(fact.meaning.bounds, end, &Bound::end) == fact.meaning.bounds.end() &&
          std::ranges::find(fact.meaning.zeros, end) == fact.meaning.zeros.end())
        fact.meaning.zeros.push_back(end);
    std::ranges::sort(fact.meaning.zeros);
    return true;
  };
  if (!add(a, b) || !add(b, a))
    return false;
  a.meaning.bounds = b.meaning.bounds = std::move(all);
  return true;
}

std::optional<Reading> Contents::readFrom(const Fact &fact, const plan::ViewT &view, bool padding) const {
  const std::int64_t bytes = bytesOf(view.dtype);
  if (fact.dtype != view.dtype || std::int64_t(view.offset) % bytes != 0)
    return std::nullopt;
  if (view.repetition_stride != 0 && view.repetition_stride != fact.repetitionStride)
    return std::nullopt;
  Reading reading{fact.meaning, {}, fact.stored};
  if (!fact.meaning.unproved.empty()) {
    reading.at = denseIndexing(view.shape);
    return reading;
  }
  const std::int64_t offset = std::int64_t(view.offset) / bytes;
  if (padding && fact.loops.empty()) {
    // The elements after the only one of a root are padding.
    Fact one = fact;
    one.loops = {{1, 1, 1}};
    return readFrom(one, view, padding);
  }
  Locator locator(fact, elementsOf(fact.meaning));
  if (offset < fact.offset || !locator.start(offset))
    return std::nullopt;
  reading.at.dims.resize(view.shape.size());
  bool isFound = true;
  forEachDim(view, [&](std::size_t d, std::int64_t stride) {
    isFound = isFound && locator.add(view.shape[d], stride, reading.at.dims[d]);
  });
  if (!isFound || !locator.fits(padding))
    return std::nullopt;
  // Past the end of the fact there may be any numbers.
  if (!locator.fits(/*padding=*/false))
    reading.meaning.zeros.clear();
  reading.at.base = locator.base;
  return reading;
}

std::optional<Reading> Contents::readChunks(const plan::ViewT &view) const {
  std::vector<Fact> own;
  for (const Fact &fact : facts[view.buffer])
    if (touches(fact, view) && fact.dtype == view.dtype && fact.repetitionStride == 0 &&
        fact.meaning.unproved.empty() && fact.meaning.bounds.empty() &&
        (own.empty() || fact.meaning.root == own.front().meaning.root))
      own.push_back(fact);
  if (own.empty() || own.size() > maxParts)
    return std::nullopt;
  // A chunk of one element has a loop less than the others.
  const std::vector<Loop> longest = std::ranges::max(own, {}, [](const Fact &fact) { return fact.loops.size(); }).loops;
  for (Fact &fact : own)
    for (std::size_t k = 0; k < longest.size() && fact.loops.size() < longest.size(); ++k)
      if (k >= fact.loops.size() || fact.loops[k].stride < longest[k].stride)
        fact.loops.insert(fact.loops.begin() + std::ptrdiff_t(k), {1, longest[k].stride, longest[k].step});
  // The elements of a row of the root that ends where a loop of the buffer ends.
  std::int64_t row = 0;
  for (const Fact &fact : own)
    for (std::size_t k = 0; k < fact.loops.size(); ++k) {
      const Loop &loop = fact.loops[k];
      if (k > 0 && loop.extent * loop.stride >= fact.loops[k - 1].stride)
        continue;
      // The next row: the smallest step that is larger than those inside it.
      std::int64_t next = 0;
      for (const Loop &outer : fact.loops)
        if (outer.step > loop.step && (next == 0 || outer.step < next))
          next = outer.step;
      if (next != 0 && fact.base % next + loop.extent * loop.step >= next)
        row = row == 0 ? next : std::min(row, next);
    }
  if (row == 0)
    return std::nullopt;
  // The loops with the elements after the end of the row, which are padding.
  const auto endsRow = [&](const Fact &fact, const Loop &loop) {
    return loop.step < row && fact.base % row + loop.extent * loop.step >= row;
  };
  for (Fact &fact : own) {
    for (std::size_t k = 1; k < fact.loops.size(); ++k)
      if (Loop &loop = fact.loops[k]; endsRow(fact, loop) && fact.loops[k - 1].stride % loop.stride == 0)
        loop.extent = std::max(loop.extent, fact.loops[k - 1].stride / loop.stride);
    // With the bound only chunks whose rows end at the same place are joined.
    fact.meaning.bounds = {{row, 0}};
    fact.meaning.zeros.clear();
  }
  std::ranges::sort(own, {}, &Fact::offset);
  Fact &all = own.front();
  for (std::size_t k = 1; k < own.size(); ++k)
    if (!join(all, own[k]))
      return std::nullopt;
  if (Loop &outermost = all.loops.front(); endsRow(all, outermost)) {
    const std::int64_t end = std::int64_t(view.offset + viewBytes(view).value_or(0)) / bytesOf(view.dtype) - all.offset;
    outermost.extent = std::max(outermost.extent, (end + outermost.stride - 1) / outermost.stride);
  }
  return readFrom(all, view, /*padding=*/true);
}

bool Contents::joinFacts(Fact &fact, const Fact &next) const {
  if (fact.meaning.root != next.meaning.root || fact.meaning.bounds == next.meaning.bounds)
    return join(fact, next);
  Fact a = fact, b = next;
  uniteBounds(a, b);
  if (!join(a, b))
    return false;
  fact = std::move(a);
  return true;
}

std::optional<Reading> Contents::read(const plan::ViewT &view, bool padding) const {
  if (isEmpty(view))
    return std::nullopt;
  for (const bool pads : {false, true})
    for (const Fact &fact : facts[view.buffer])
      if (pads <= padding)
        if (std::optional<Reading> reading = readFrom(fact, view, pads))
          return reading;
  if (padding)
    if (std::optional<Reading> reading = readChunks(view))
      return reading;
  // A window of a uniform value may be in several facts; so may one with a part about which nothing is known.
  for (const Fact &fact : facts[view.buffer])
    if (!fact.meaning.unproved.empty() && touches(fact, view))
      return Reading{fact.meaning, denseIndexing(view.shape)};
  return std::nullopt;
}

bool Contents::isInSeveralFacts(const plan::ViewT &view, RootId ignored) const {
  return std::ranges::count_if(facts[view.buffer], [&](const Fact &fact) {
           return fact.meaning.root != ignored && touches(fact, view);
         }) > 1;
}

void Contents::copy(const plan::ViewT &source, const plan::ViewT &destination) {
  const std::int64_t bytes = bytesOf(source.dtype), begin = std::int64_t(source.offset) / bytes,
                     end = begin + std::int64_t(viewBytes(source).value_or(0)) / bytes,
                     distance = std::int64_t(destination.offset) / bytes - begin;
  std::vector<Fact> copies;
  for (const Fact &fact : facts[source.buffer])
    if (fact.dtype == source.dtype && fact.repetitionStride == 0 && fact.offset >= begin &&
        fact.offset + spanOf(fact.loops) <= end) {
      copies.push_back(fact);
      copies.back().offset += distance;
    }
  forget(destination);
  copies.resize(std::min(copies.size(), maxFacts - std::min(maxFacts, facts[destination.buffer].size())));
  std::ranges::move(copies, std::back_inserter(facts[destination.buffer]));
}

void Contents::write(const plan::ViewT &view, Reading reading) {
  if (isEmpty(view))
    return;
  std::vector<Fact> &own = facts[view.buffer];
  const std::int64_t bytes = bytesOf(view.dtype);
  Fact fact;
  fact.dtype = view.dtype;
  fact.offset = std::int64_t(view.offset) / bytes;
  fact.base = reading.at.base;
  const bool isAligned = std::int64_t(view.offset) % bytes == 0;
  bool isKnown = isAligned && (reading.meaning.root != 0 || !reading.meaning.unproved.empty()) &&
                 view.repetition_stride == 0 && hasShape(reading.at, view.shape);
  if (isKnown) {
    fact.loops.reserve(view.shape.size());
    forEachDim(view, [&](std::size_t d, std::int64_t stride) {
      for (std::size_t k = reading.at.dims[d].size(); k-- > 0;) {
        const Digit &digit = reading.at.dims[d][k];
        fact.loops.push_back({digit.extent, stride, digit.step});
        stride *= digit.extent;
      }
    });
  }
  fact.meaning = std::move(reading.meaning);
  fact.stored = reading.stored;
  fact.stored.add(Storage(view.dtype));
  isKnown = isKnown && normalize(fact.loops, fact.meaning.bounds);
  if (view.repetition_stride != 0 || !isAligned) {
    own.clear();
  } else if (!own.empty()) {
    std::vector<Loop> window;
    forEachDim(view, [&](std::size_t d, std::int64_t stride) { window.push_back({view.shape[d], stride, 0}); });
    // A window without regular loops counts as all bytes from its first to its last.
    if (!normalize(window))
      window = {{std::int64_t(viewBytes(view).value_or(0)) / bytes, 1, 0}};
    std::erase_if(own, [&](const Fact &old) {
      if (old.dtype == fact.dtype)
        return !areDisjoint(old.offset, old.loops, fact.offset, window);
      const std::int64_t oldBytes = bytesOf(old.dtype), at = old.offset * oldBytes;
      return at < fact.offset * bytes + spanOf(window) * bytes &&
             at + spanOf(old.loops) * oldBytes > fact.offset * bytes;
    });
  }
  if (!isKnown)
    return;
  for (bool isJoined = true; isJoined;) {
    isJoined = false;
    for (std::size_t k = 0; k < own.size() && !isJoined; ++k)
      if (fact.meaning.unproved.empty() && joinFacts(fact, own[k])) {
        own.erase(own.begin() + std::ptrdiff_t(k));
        isJoined = true;
      }
  }
  if (own.size() < maxFacts)
    own.push_back(std::move(fact));
}

} // namespace sluice::check::proof
