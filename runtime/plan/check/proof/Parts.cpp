//===- Parts.cpp - parts of a root whose elements have indices of their own ----------------===//
//
// See Parts.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/Parts.h"

#include <algorithm>
#include <iterator>

namespace sluice::check::proof {
namespace {

/// A digit of a part, with the distance of its values in the part.
struct PartDigit {
  Digit root;
  std::int64_t distance = 1;
  /// The largest value that is used.
  std::int64_t last = 0;
  /// Values past the extent are padding, by a bound.
  bool isBounded = false;
};

/// Maps digits of indices in the part to digits of indices in the root.
class Mapping {
public:
  Mapping(const Shard &part, std::span<const std::uint32_t> sizes) : part(part) {
    const Digits &all = part.at.dims.front();
    std::int64_t distance = 1;
    for (std::size_t k = all.size(); k-- > 0; distance *= all[k].extent)
      digits.insert(digits.begin(), {all[k], distance});
    for (const AxisStep &step : part.steps)
      ranks.push_back({std::int64_t(sizes[step.axis]), step.step});
  }
  /// The end in the root of the padding past `end` in the part. nullopt if it is no end of a digit, or if indices in
  /// the root do not grow with those in the part.
  std::optional<std::int64_t> addBound(std::int64_t end) {
    std::size_t k = 0;
    while (k < digits.size() && digits[k].distance >= end)
      ++k;
    if (k == digits.size() || end % digits[k].distance != 0)
      return std::nullopt;
    const std::int64_t extent = end / digits[k].distance;
    if (digits[k].root.extent % extent != 0)
      return std::nullopt;
    if (digits[k].root.extent != extent) {
      PartDigit outer = digits[k];
      outer.root = {digits[k].root.extent / extent, digits[k].root.step * extent};
      outer.distance *= extent;
      digits[k].root.extent = extent;
      digits.insert(digits.begin() + std::ptrdiff_t(k++), outer);
    }
    const std::int64_t step = digits[k].root.step, inRoot = extent * step;
    for (std::size_t j = 0; j < k; ++j)
      if (digits[j].root.step < inRoot)
        return std::nullopt;
    if (lastInside(k, inRoot) >= step)
      return std::nullopt;
    digits[k].isBounded = true;
    return inRoot;
  }
  std::int64_t base(std::int64_t index) {
    std::int64_t result = 0;
    for (PartDigit &digit : digits) {
      digit.last = index / digit.distance;
      index -= digit.last * digit.distance;
      result += digit.last * digit.root.step;
    }
    return result;
  }
  /// Appends the digits of the root.
  bool add(const Digit &digit, Digits &result) {
    if (digit.step == 0) {
      result.push_back(digit);
      return true;
    }
    const auto own = std::ranges::find_if(digits, [&](const PartDigit &at) { return at.distance <= digit.step; });
    if (own == digits.end() || digit.step % own->distance != 0)
      return false;
    const std::int64_t multiple = digit.step / own->distance;
    // All values but the first would be past the end, where a bound does not limit them.
    if (multiple >= own->root.extent)
      return false;
    if (own != digits.begin() && !own->isBounded && own->last + multiple * (digit.extent - 1) >= own->root.extent) {
      // The elements continue in the next outer digit.
      const std::int64_t count = own->root.extent / multiple;
      if (own->last != 0 || own->root.extent % multiple != 0 || digit.extent % count != 0)
        return false;
      const Digit outer{digit.extent / count, std::prev(own)->distance};
      return add(outer, result) && add({count, digit.step}, result);
    }
    const std::int64_t step = own->root.step;
    if (std::ranges::any_of(part.bounds, [&](const Bound &bound) { return bound.separates(multiple * step, step); }))
      return false;
    own->last += multiple * (digit.extent - 1);
    result.push_back({digit.extent, multiple * step});
    return true;
  }
  /// Elements past the last one of the part are padding: of the outermost digit, at whose end `end` is in the root.
  bool isPadded() const { return !digits.empty() && digits[0].last >= digits[0].root.extent; }
  /// 0: the inner digits pass a step of the outermost one.
  std::int64_t end() const {
    const std::int64_t all = digits[0].root.extent * digits[0].root.step;
    return lastInside(0, all) < digits[0].root.step ? all : 0;
  }

private:
  /// The largest sum in the root of the digits inside of digit `k`, and of those of the part's ranks, with steps below
  /// `end`.
  std::int64_t lastInside(std::size_t k, std::int64_t end) const {
    // The largest level of the part that is inside of digit `k`.
    std::int64_t level = 0;
    for (const Bound &bound : part.bounds)
      level = bound.end <= digits[k].root.step ? bound.end : level;
    std::int64_t last = std::max<std::int64_t>(level - 1, 0);
    const auto add = [&](const Digit &digit) {
      last += digit.step >= level && digit.step < end ? (digit.extent - 1) * digit.step : 0;
    };
    for (std::size_t j = k + 1; j < digits.size(); ++j)
      add(digits[j].root);
    std::ranges::for_each(ranks, add);
    return last;
  }

  const Shard &part;
  std::vector<PartDigit> digits;
  /// Of the axes that divide the part.
  Digits ranks;
};

} // namespace

PartId Parts::of(const Shard &shard) {
  Part part;
  part.shard = shard;
  Digits all;
  for (const Digits &dim : shard.at.dims)
    all.insert(all.end(), dim.begin(), dim.end());
  part.shard.at.dims = {joined(all, shard.bounds)};
  part.shard.sort();
  const auto found = std::ranges::find(parts, part.shard, &Part::shard);
  if (found != parts.end())
    return PartId(found - parts.begin()) + 1;
  parts.push_back(std::move(part));
  return PartId(parts.size());
}

std::optional<Shard> Parts::inRoot(PartId id, const Shard &shard, std::int64_t elements,
                                   std::span<const std::uint32_t> sizes,
                                   std::map<std::int64_t, std::int64_t> *ends) const {
  const Shard &part = (*this)[id].shard;
  const std::int64_t partElements = (*this)[id].elements();
  if (shard.at.base >= partElements)
    return std::nullopt;
  Mapping mapping(part, sizes);
  Shard result;
  result.bounds = part.bounds;
  std::map<std::int64_t, std::int64_t> endsInRoot;
  for (const Bound &bound : shard.bounds) {
    const bool hasAllAxes = std::ranges::all_of(
        shard.steps, [&](const AxisStep &step) { return step.step >= bound.end || bound.has(step); });
    const std::optional<std::int64_t> end = mapping.addBound(bound.end);
    if (!hasAllAxes || !end)
      return std::nullopt;
    endsInRoot[bound.end] = *end;
    result.bounds.push_back({*end, bound.axes});
  }
  result.at.base = part.at.base + mapping.base(shard.at.base);
  for (const Digits &dim : shard.at.dims) {
    Digits &digits = result.at.dims.emplace_back();
    for (const Digit &digit : joined(dim, shard.bounds))
      if (!mapping.add(digit, digits))
        return std::nullopt;
  }
  result.steps = part.steps;
  AxisSet outermost = 0;
  for (const AxisStep &step : shard.steps) {
    if (std::ranges::find(part.steps, step.axis, &AxisStep::axis) != part.steps.end())
      return std::nullopt;
    // One chunk has all elements of a level or of the part, and the other ranks padding.
    const auto own = std::ranges::find_if(shard.bounds, [&](const Bound &bound) { return bound.has(step); });
    const std::int64_t end = own != shard.bounds.end() ? own->end : partElements;
    if (step.step >= end && partElements > 1 && step.step % end == 0) {
      const std::int64_t inRoot = own != shard.bounds.end() ? endsInRoot[end] : mapping.end();
      if (inRoot == 0)
        return std::nullopt;
      result.steps.push_back({step.axis, step.step / end * inRoot});
      outermost |= own == shard.bounds.end() ? AxisSet(1) << step.axis : 0;
      continue;
    }
    Digits digits;
    if (!mapping.add({std::int64_t(sizes[step.axis]), step.step}, digits) || digits.size() != 1 ||
        digits.front().step == 0)
      return std::nullopt;
    result.steps.push_back({step.axis, digits.front().step});
  }
  if (mapping.isPadded() && mapping.end() == 0)
    return std::nullopt;
  if (mapping.isPadded() || outermost != 0) {
    endsInRoot[partElements] = mapping.end();
    if (mapping.end() != elements)
      result.bounds.push_back({mapping.end(), outermost});
  }
  // The levels of the part and of the root count from the same first element only if that is the first of all.
  if (!result.bounds.empty() && (shard.at.base != 0 || part.at.base != 0))
    return std::nullopt;
  result.sort();
  if (ends)
    *ends = std::move(endsInRoot);
  return result;
}

} // namespace sluice::check::proof
