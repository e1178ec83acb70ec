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
  explicit Mapping(const Digits &part) {
    std::int64_t distance = 1;
    for (std::size_t k = part.size(); k-- > 0; distance *= part[k].extent)
      digits.insert(digits.begin(), {part[k], distance});
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
    std::int64_t inner = 0;
    for (std::size_t j = 0; j < digits.size(); ++j)
      if (j < k && digits[j].root.step < inRoot)
        return std::nullopt;
      else if (j > k)
        inner += (digits[j].root.extent - 1) * digits[j].root.step;
    if (k == 0 || inner >= step)
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
    if (digit.extent == 1)
      return true;
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
      if (own->last != 0 || own->root.extent % multiple != 0 || count == 0 || digit.extent % count != 0)
        return false;
      const Digit outer{digit.extent / count, std::prev(own)->distance};
      return add(outer, result) && add({count, digit.step}, result);
    }
    own->last += multiple * (digit.extent - 1);
    result.push_back({digit.extent, multiple * own->root.step});
    return true;
  }
  /// Elements past the last one of the part are padding: of the outermost digit, at whose end `end` is in the root.
  bool isInside() const {
    for (std::size_t k = 1; k < digits.size(); ++k)
      if (digits[k].last >= digits[k].root.extent && !digits[k].isBounded)
        return false;
    return true;
  }
  bool isPadded() const { return !digits.empty() && digits[0].last >= digits[0].root.extent; }
  std::int64_t end() const { return digits[0].root.extent * digits[0].root.step; }

private:
  std::vector<PartDigit> digits;
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
  Mapping mapping(part.at.dims.front());
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
      // All elements of the part are one of the root.
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
  if (!mapping.isInside() || (mapping.isPadded() && mapping.end() == 0))
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
