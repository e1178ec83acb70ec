//===- Sharding.cpp - how ranks divide a tensor --------------------------------------------===//
//
// See Sharding.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/Sharding.h"

#include <algorithm>

namespace sluice::check::proof {
namespace {

/// A dim of a value, and the dim of a shard of it, without the digits that they share: at most one digit differs.
struct Difference {
  /// Of the value.
  Digit digit;
  /// Extents of the shared digits outside of it and inside.
  std::int64_t outer = 1, inner = 1;
  /// The digit in the shard: `segments` parts at distance `length`, and of each the first `chunk` elements.
  std::int64_t segments = 1, length = 1, chunk = 1;
};

std::optional<Difference> differenceOf(const Digits &local, const Digits &global) {
  std::size_t first = 0, last = 0;
  while (first < std::min(local.size(), global.size()) && local[first] == global[first])
    ++first;
  const std::size_t common = std::min(local.size(), global.size()) - first;
  while (last < common && local[local.size() - 1 - last] == global[global.size() - 1 - last])
    ++last;
  const Digits rest(local.begin() + std::ptrdiff_t(first), local.end() - std::ptrdiff_t(last));
  if (first + last + 1 != global.size() || rest.size() > 2)
    return std::nullopt;
  Difference result;
  result.digit = global[first];
  for (std::size_t k = 0; k < global.size(); ++k)
    if (k != first)
      (k < first ? result.outer : result.inner) *= global[k].extent;
  const auto [extent, step] = result.digit;
  result.length = extent;
  const auto setSegments = [&](const Digit &parts) {
    result.segments = parts.extent;
    result.length = parts.step / step;
    return parts.step % step == 0 && parts.extent * result.length == extent;
  };
  if (step == 0)
    return std::nullopt;
  if (rest.size() == 1 && rest[0].step == step)
    result.chunk = rest[0].extent;
  else if (rest.size() == 1 && !setSegments(rest[0]))
    return std::nullopt;
  else if (rest.size() == 2) {
    if (rest[1].step != step || !setSegments(rest[0]))
      return std::nullopt;
    result.chunk = rest[1].extent;
  }
  return result.chunk <= result.length ? std::optional(result) : std::nullopt;
}

/// The steps and bounds of a shard that no dim has used yet, while its dims are compared.
struct Rest {
  std::vector<AxisStep> steps;
  std::vector<Bound> bounds;
  std::int64_t elements;
  std::span<const std::uint32_t> sizes;
  const Shard &all;

  /// Takes the axes of chunks of `chunk` elements, the first at `step`, that cover `length`; the elements of all
  /// segments are the root up to `end`. A chunk of all elements is also divided if there are steps.
  bool take(std::int64_t step, std::int64_t chunk, std::int64_t length, bool isOutermost,
            std::vector<std::uint32_t> &axes) {
    const auto bound = std::ranges::find(bounds, step * length, &Bound::end);
    if (bound != bounds.end() && !isWithinSteps(step, bound->end))
      return false;
    std::int64_t ranks = 1, next = step * chunk;
    AxisSet taken = 0;
    while (true) {
      const auto found = std::ranges::find_if(steps, [&](const AxisStep &own) {
        return own.step == next && (bound != bounds.end() ? bound->has(own) : true);
      });
      if (found == steps.end() || (bound == bounds.end() && ranks * chunk >= length && !isOutermost))
        break;
      axes.insert(axes.begin(), found->axis);
      taken |= AxisSet(1) << found->axis;
      ranks *= sizes[found->axis];
      next *= sizes[found->axis];
      steps.erase(found);
    }
    if (bound != bounds.end()) {
      // The other axes divide inner dims.
      const bool isAll = (taken & ~bound->axes) == 0 && std::ranges::all_of(all.steps, [&](const AxisStep &own) {
                           return (taken >> own.axis & 1) || !bound->has(own) || own.step <= step;
                         });
      bounds.erase(bound);
      return isAll && ranks * chunk >= length;
    }
    return isOutermost ? ranks * chunk >= length : ranks * chunk == length;
  }
  /// True if the elements inside of one step of a digit, the first of which may be within the step, do not reach the
  /// next one: then all elements of a step are before the end of the level, or all are padding.
  bool isWithinSteps(std::int64_t step, std::int64_t end) const {
    const std::int64_t place = levelBase(all.bounds, end, all.at.base);
    // Elements of the largest level inside are before its end.
    std::int64_t level = 1;
    for (const Bound &own : all.bounds)
      level = own.end <= step ? own.end : level;
    std::int64_t last = place - place % level + level - 1;
    const auto add = [&](std::int64_t extent, std::int64_t distance) {
      last += distance >= level && distance < step ? (extent - 1) * distance : 0;
    };
    for (const Digits &dim : all.at.dims)
      for (const Digit &digit : dim)
        add(digit.extent, digit.step);
    for (const AxisStep &own : all.steps)
      add(sizes[own.axis], own.step);
    return last < step;
  }
};

std::optional<DimSharding> shardingOfDim(const Digits &localDigits, const Digits &globalDigits, Rest &rest) {
  const Digits local = joined(localDigits), global = joined(globalDigits);
  DimSharding sharding;
  sharding.local = extentOf(local);
  const std::int64_t extent = extentOf(global);
  if (global.empty() || (global.size() == 1 && global.front().step == 0)) {
    sharding.isUniform = extent != 1;
    const bool isUniform = local.empty() || (local.size() == 1 && local.front().step == 0);
    return isUniform && sharding.local <= extent ? std::optional(sharding) : std::nullopt;
  }
  if (local == global) {
    // The first rank may have all elements, and the others padding.
    std::int64_t outer = 1;
    for (std::size_t k = 0; k < global.size() && !rest.steps.empty(); outer *= global[k++].extent) {
      const auto [length, step] = global[k];
      const auto bound = std::ranges::find_if(rest.bounds, [&](const Bound &own) {
        return own.end > step && length % (own.end / step) == 0 &&
               // The elements of a digit that passes the end are padding.
               std::ranges::none_of(localDigits, [&](const Digit &digit) {
                 return own.has(digit) && digit.step * digit.extent > own.end;
               });
      });
      const bool isOutermost = k == 0 && step * length == rest.elements &&
                               std::ranges::find(rest.steps, rest.elements, &AxisStep::step) != rest.steps.end();
      if (bound == rest.bounds.end() && !isOutermost)
        continue;
      const std::int64_t chunk = bound == rest.bounds.end() ? length : bound->end / step;
      if (!rest.take(step, chunk, chunk, isOutermost, sharding.axes))
        return std::nullopt;
      sharding.segments = outer * (length / chunk);
      sharding.extent = extent / sharding.segments;
      break;
    }
    return sharding;
  }
  const std::optional<Difference> found = differenceOf(local, global);
  if (!found)
    return std::nullopt;
  const bool isOutermost =
      found->segments == 1 && found->outer == 1 && found->digit.step * found->digit.extent == rest.elements;
  if (!rest.take(found->digit.step, found->chunk, found->length, isOutermost, sharding.axes))
    return std::nullopt;
  sharding.segments = found->outer * found->segments;
  sharding.extent = found->length * found->inner;
  return sharding;
}

/// The digits of a shard with those of its ranks: extent, step, and whether a bound has them.
struct Level {
  Digit digit;
  std::ptrdiff_t bound = -1;
};

std::vector<Level> levelsOf(const Shard &shard, std::span<const std::uint32_t> sizes) {
  std::vector<Level> levels;
  const auto add = [&](const Digit &digit, AxisSet axis) {
    if (digit.extent == 1)
      return;
    // The innermost bound that has it.
    const auto own = std::ranges::find_if(
        shard.bounds, [&](const Bound &bound) { return axis != 0 ? (axis & bound.axes) != 0 : bound.has(digit); });
    levels.push_back({digit, own == shard.bounds.end() ? -1 : own - shard.bounds.begin()});
  };
  for (const Digits &dim : shard.at.dims)
    for (const Digit &digit : dim)
      add(digit, 0);
  for (const AxisStep &step : shard.steps)
    add({std::int64_t(sizes[step.axis]), step.step}, AxisSet(1) << step.axis);
  return levels;
}

} // namespace

void Shard::sort() {
  std::ranges::sort(steps);
  std::ranges::sort(bounds);
  for (Bound &bound : bounds)
    for (const AxisStep &own : steps)
      if (own.step < bound.end)
        bound.axes |= AxisSet(1) << own.axis;
}

bool DimSharding::isPadded(std::span<const std::uint32_t> sizes) const {
  std::int64_t rows = chunk();
  for (std::uint32_t axis : axes)
    rows *= sizes[axis];
  return rows > extent;
}

std::optional<std::vector<DimSharding>> shardingBetween(const Shard &local, const Indexing &global,
                                                        std::int64_t elements, std::span<const std::uint32_t> sizes) {
  if (local.at.base != global.base || local.at.dims.size() != global.dims.size())
    return std::nullopt;
  std::vector<DimSharding> result;
  result.reserve(global.dims.size());
  // Most tensors are unsharded.
  if (local.steps.empty() && local.bounds.empty() && local.at == global) {
    for (const Digits &dim : global.dims) {
      const std::int64_t extent = extentOf(dim);
      const bool isUniform =
          extent != 1 && std::ranges::all_of(dim, [](const Digit &digit) { return digit.step == 0; });
      result.push_back({{}, 1, extent, isUniform});
    }
    return result;
  }
  Rest rest{local.steps, local.bounds, elements, sizes, local};
  for (std::size_t d = 0; d < global.dims.size(); ++d) {
    std::optional<DimSharding> sharding = shardingOfDim(local.at.dims[d], global.dims[d], rest);
    if (!sharding)
      return std::nullopt;
    result.push_back(std::move(*sharding));
  }
  return rest.steps.empty() && rest.bounds.empty() ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<Indexing> elementsOfAll(const Shard &shard, std::int64_t elements, std::span<const std::uint32_t> sizes) {
  std::vector<Level> levels = levelsOf(shard, sizes);
  std::int64_t repeats = 1;
  std::erase_if(levels, [&](const Level &level) {
    repeats *= level.digit.step == 0 ? level.digit.extent : 1;
    return level.digit.step == 0;
  });
  std::ranges::sort(levels, {}, [](const Level &level) { return level.digit.step; });
  // The digits of a level, ranks included, follow each other without a gap, and the last ones pass its end.
  Digits digits;
  std::int64_t span = 1;
  const auto cut = [&](std::int64_t end) {
    Digit &outer = digits.front();
    if (outer.extent * outer.step < end || end % outer.step != 0)
      return false;
    outer.extent = end / outer.step;
    span = end;
    return true;
  };
  const auto take = [&](std::ptrdiff_t bound, std::int64_t end, std::int64_t &first) {
    for (const Level &level : levels) {
      // From the end on there is padding.
      if (level.bound != bound || level.digit.step >= end)
        continue;
      if (level.digit.step < span)
        return false;
      first = first == 0 ? level.digit.step : first;
      digits.insert(digits.begin(), level.digit);
      span = level.digit.step * level.digit.extent;
    }
    digits = joined(digits);
    return true;
  };
  for (std::size_t b = 0; b < shard.bounds.size(); ++b) {
    std::int64_t first = 0;
    const std::int64_t end = shard.bounds[b].end;
    if (levelBase(shard.bounds, end, shard.at.base) != 0)
      return std::nullopt;
    if (!take(std::ptrdiff_t(b), end, first) || (first != 0 && !cut(end)))
      return std::nullopt;
  }
  std::int64_t first = 0;
  if (!take(-1, elements, first))
    return std::nullopt;
  // Indices past the last one are padding.
  std::int64_t last = shard.at.base;
  for (const Digit &digit : digits)
    last += (digit.extent - 1) * digit.step;
  if (last >= elements && (shard.at.base != 0 || !cut(elements)))
    return std::nullopt;
  digits.push_back({repeats, 0});
  return Indexing{shard.at.base, {joined(digits)}};
}

bool coversOnce(const Shard &shard, std::int64_t elements, std::span<const std::uint32_t> sizes) {
  const std::optional<Indexing> all = elementsOfAll(shard, elements, sizes);
  return all && *all == Indexing{0, {joined({{elements, 1}})}};
}

std::vector<std::int64_t> paddedEnds(const Shard &shard, std::int64_t elements, std::span<const std::uint32_t> sizes) {
  std::vector<std::int64_t> ends;
  std::int64_t last = shard.at.base;
  for (const Bound &bound : shard.bounds) {
    ends.push_back(bound.end);
    last = shard.at.base + bound.end - 1;
  }
  for (const Level &level : levelsOf(shard, sizes))
    if (level.bound < 0)
      last += (level.digit.extent - 1) * level.digit.step;
  if (last >= elements)
    ends.push_back(elements);
  return ends;
}

std::optional<Shard> shardOf(std::span<const std::int64_t> shape, std::span<const DimSharding> dims,
                             std::span<const std::uint32_t> sizes) {
  Shard result;
  result.at = denseIndexing(shape);
  const std::int64_t elements = elementsOf(shape);
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    const DimSharding &dim = dims[d];
    if (!dim.isSharded())
      continue;
    const std::int64_t chunk = dim.chunk(), length = shape[d] / dim.segments;
    if (dim.segments * length != shape[d] || dim.segments * chunk != dim.local || (dim.extent != length) ||
        chunk > length)
      return std::nullopt;
    result.at.dims[d] = {{dim.segments, length * stride}, {chunk, stride}};
    std::int64_t step = chunk * stride;
    AxisSet axes = 0;
    for (std::size_t a = dim.axes.size(); a-- > 0;) {
      result.steps.push_back({dim.axes[a], step});
      axes |= AxisSet(1) << dim.axes[a];
      step *= sizes[dim.axes[a]];
    }
    if (dim.isPadded(sizes) && (dim.segments != 1 || stride * length != elements))
      result.bounds.push_back({stride * length, axes});
    result.at.dims[d] = joined(result.at.dims[d], result.bounds);
  }
  result.sort();
  return result;
}

void simplify(Shard &shard, std::span<const std::uint32_t> sizes) {
  if (shard.bounds.empty())
    return;
  const std::vector<Level> levels = levelsOf(shard, sizes);
  std::vector<Bound> kept;
  std::int64_t last = 0;
  for (std::size_t b = 0; b < shard.bounds.size(); ++b) {
    for (const Level &level : levels)
      if (level.bound == std::ptrdiff_t(b))
        last += (level.digit.extent - 1) * level.digit.step;
    if (levelBase(shard.bounds, shard.bounds[b].end, shard.at.base) + last >= shard.bounds[b].end) {
      kept.push_back(shard.bounds[b]);
      last = shard.bounds[b].end - 1;
    }
  }
  // The other levels count from the same first element.
  const bool isSame = std::ranges::all_of(kept, [&](const Bound &bound) {
    return levelBase(kept, bound.end, shard.at.base) == levelBase(shard.bounds, bound.end, shard.at.base);
  });
  if (isSame)
    shard.bounds = std::move(kept);
}

bool gatherAxis(std::vector<Bound> &bounds, std::uint32_t axis, std::int64_t step) {
  bool hasAllChunks = true;
  for (Bound &bound : bounds) {
    if (!(bound.axes >> axis & 1))
      continue;
    hasAllChunks = hasAllChunks && step < bound.end;
    bound.axes &= ~(AxisSet(1) << axis);
  }
  std::ranges::sort(bounds);
  return hasAllChunks;
}

} // namespace sluice::check::proof
