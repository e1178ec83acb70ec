//===- Parts.cpp - parts of a root whose elements have indices of their own ----------------===//
//
// See Parts.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/Parts.h"

#include <algorithm>

namespace sluice::check::proof {
namespace {

/// A digit of a part, with the distance of its values in the part.
struct PartDigit {
  Digit root;
  std::int64_t distance = 1;
  /// The largest value that is used.
  std::int64_t last = 0;
};

/// Maps digits of indices in the part to digits of indices in the root.
class Mapping {
public:
  explicit Mapping(const Digits &part) {
    std::int64_t distance = 1;
    for (std::size_t k = part.size(); k-- > 0; distance *= part[k].extent)
      digits.insert(digits.begin(), {part[k], distance});
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
    if (own != digits.begin() && own->last + multiple * (digit.extent - 1) >= own->root.extent) {
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
      if (digits[k].last >= digits[k].root.extent)
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
                                   std::span<const std::uint32_t> sizes) const {
  const Shard &part = (*this)[id].shard;
  if (!shard.bounds.empty() || shard.at.base >= (*this)[id].elements())
    return std::nullopt;
  Mapping mapping(part.at.dims.front());
  Shard result;
  result.at.base = part.at.base + mapping.base(shard.at.base);
  for (const Digits &dim : shard.at.dims) {
    Digits &digits = result.at.dims.emplace_back();
    for (const Digit &digit : joined(dim))
      if (!mapping.add(digit, digits))
        return std::nullopt;
  }
  result.steps = part.steps;
  for (const AxisStep &step : shard.steps) {
    Digits digits;
    if (!mapping.add({std::int64_t(sizes[step.axis]), step.step}, digits) || digits.size() > 1 ||
        std::ranges::find(part.steps, step.axis, &AxisStep::axis) != part.steps.end())
      return std::nullopt;
    if (digits.empty() || digits.front().step == 0)
      return std::nullopt;
    result.steps.push_back({step.axis, digits.front().step});
  }
  if (!mapping.isInside())
    return std::nullopt;
  result.bounds = part.bounds;
  if (mapping.isPadded() && mapping.end() != elements)
    result.bounds.push_back({mapping.end(), 0});
  for (const AxisStep &step : result.steps)
    for (Bound &bound : result.bounds)
      bound.axes |= step.step < bound.end ? AxisSet(1) << step.axis : 0;
  // The first element may be padding.
  if (!result.bounds.empty() && shard.at.base != 0)
    return std::nullopt;
  result.sort();
  return result;
}

} // namespace sluice::check::proof
