//===- Indexing.cpp - where the elements of a tensor are in another one --------------------===//
//
// See Indexing.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/Indexing.h"

#include <algorithm>

namespace sluice::check::proof {

Digits joined(const Digits &digits) {
  Digits result;
  result.reserve(digits.size());
  for (const Digit &digit : digits) {
    if (digit.extent == 1)
      continue;
    if (!result.empty() && result.back().step == digit.step * digit.extent)
      result.back() = {result.back().extent * digit.extent, digit.step};
    else
      result.push_back(digit);
  }
  return result;
}

std::int64_t elementsOf(std::span<const std::int64_t> shape) {
  std::int64_t elements = 1;
  for (std::int64_t extent : shape)
    elements *= extent;
  return elements;
}

std::int64_t extentOf(const Digits &digits) {
  std::int64_t extent = 1;
  for (const Digit &digit : digits)
    extent *= digit.extent;
  return extent;
}

Shape shapeOf(const Indexing &indexing) {
  Shape shape(indexing.dims.size());
  std::ranges::transform(indexing.dims, shape.begin(), extentOf);
  return shape;
}

static Indexing indexingOf(std::span<const std::int64_t> shape, std::int64_t innermost) {
  Indexing result;
  result.dims.resize(shape.size());
  std::int64_t step = innermost;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1)
      result.dims[d] = {{shape[d], step}};
    step *= shape[d];
  }
  return result;
}

Indexing denseIndexing(std::span<const std::int64_t> shape) { return indexingOf(shape, 1); }
Indexing uniformIndexing(std::span<const std::int64_t> shape) { return indexingOf(shape, 0); }

std::optional<Indexing> reshaped(const Indexing &indexing, std::span<const std::int64_t> shape) {
  Digits all;
  for (const Digits &digits : indexing.dims)
    all.insert(all.end(), digits.begin(), digits.end());
  all = joined(all);
  if (extentOf(all) != elementsOf(shape) || elementsOf(shape) == 0)
    return std::nullopt;
  Indexing result;
  result.base = indexing.base;
  result.dims.resize(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    std::int64_t left = shape[d];
    Digits &dim = result.dims[d];
    while (left > 1) {
      Digit &inner = all.back();
      if (left % inner.extent == 0) {
        dim.insert(dim.begin(), inner);
        left /= inner.extent;
        all.pop_back();
      } else if (inner.extent % left == 0) {
        dim.insert(dim.begin(), {left, inner.step});
        inner = {inner.extent / left, inner.step * left};
        left = 1;
      } else {
        return std::nullopt;
      }
    }
  }
  return result;
}

std::optional<Indexing> transposed(const Indexing &indexing, std::span<const std::int64_t> permutation) {
  if (permutation.size() != indexing.dims.size())
    return std::nullopt;
  Indexing result;
  result.base = indexing.base;
  std::vector<bool> isTaken(permutation.size());
  for (std::int64_t dim : permutation) {
    if (dim < 0 || std::size_t(dim) >= isTaken.size() || isTaken[dim])
      return std::nullopt;
    isTaken[dim] = true;
    result.dims.push_back(indexing.dims[dim]);
  }
  return result;
}

std::optional<Indexing> broadcasted(const Indexing &indexing, std::span<const std::int64_t> shape) {
  if (shape.size() < indexing.dims.size())
    return std::nullopt;
  Indexing result;
  result.base = indexing.base;
  result.dims.resize(shape.size());
  const std::size_t missing = shape.size() - indexing.dims.size();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t extent = d < missing ? 1 : extentOf(indexing.dims[d - missing]);
    if (extent == shape[d]) {
      if (d >= missing)
        result.dims[d] = indexing.dims[d - missing];
    } else if (extent == 1) {
      result.dims[d] = {{shape[d], 0}};
    } else {
      return std::nullopt;
    }
  }
  return result;
}

std::optional<Indexing> sliced(const Indexing &indexing, std::size_t dim, std::int64_t first, std::int64_t count,
                               std::int64_t step) {
  if (dim >= indexing.dims.size() || first < 0 || count < 1 || step < 1)
    return std::nullopt;
  Indexing result = indexing;
  const Digits digits = joined(indexing.dims[dim]);
  if (first + (count - 1) * step >= extentOf(digits))
    return std::nullopt;
  if (digits.size() <= 1) {
    const std::int64_t innermost = digits.empty() ? 0 : digits.front().step;
    result.base += first * innermost;
    result.dims[dim] = count == 1 ? Digits() : Digits{{count, step * innermost}};
    return result;
  }
  // Several digits: full periods of the inner ones.
  const Digits inner(digits.begin() + 1, digits.end());
  const std::int64_t period = extentOf(inner);
  if (step != 1 || first % period != 0 || count % period != 0)
    return std::nullopt;
  result.base += first / period * digits.front().step;
  result.dims[dim] = {{count / period, digits.front().step}};
  result.dims[dim].insert(result.dims[dim].end(), inner.begin(), inner.end());
  return result;
}

namespace {

/// Takes from `steps` the axes of chunks of `chunk` that cover `extent`; the first chunk of the second rank is at
/// `step`.
bool takeAxes(std::vector<AxisStep> &steps, std::int64_t step, std::int64_t chunk, std::int64_t extent,
              std::span<const std::uint32_t> sizes, std::vector<std::uint32_t> &axes) {
  std::int64_t ranks = 1;
  while (ranks * chunk < extent) {
    const auto found = std::find_if(steps.begin(), steps.end(), [&](const AxisStep &s) { return s.step == step; });
    if (found == steps.end())
      return false;
    axes.insert(axes.begin(), found->axis);
    ranks *= sizes[found->axis];
    step *= sizes[found->axis];
    steps.erase(found);
  }
  return true;
}

/// The sharding of one dim; takes its axes from `steps`.
std::optional<DimSharding> shardingOfDim(const Digits &localDigits, const Digits &globalDigits,
                                         std::vector<AxisStep> &steps, std::span<const std::uint32_t> sizes) {
  const Digits local = joined(localDigits), global = joined(globalDigits);
  DimSharding sharding;
  sharding.local = extentOf(local);
  const std::int64_t extent = extentOf(global);
  if (global.empty() || (global.size() == 1 && global.front().step == 0)) {
    sharding.isUniform = extent != 1;
    const bool isUniform = local.empty() || (local.size() == 1 && local.front().step == 0);
    return isUniform && sharding.local <= extent ? std::optional(sharding) : std::nullopt;
  }
  if (local == global)
    return sharding;
  if (sharding.local >= extent)
    return std::nullopt;
  const Digits inner(global.begin() + 1, global.end());
  const std::int64_t period = extentOf(inner), outerStep = global.front().step;
  if (sharding.local % period == 0) {
    const std::int64_t chunk = sharding.local / period;
    Digits expected{{chunk, outerStep}};
    expected.insert(expected.end(), inner.begin(), inner.end());
    if (local == joined(expected))
      return takeAxes(steps, chunk * outerStep, chunk, global.front().extent, sizes, sharding.axes)
                 ? std::optional(sharding)
                 : std::nullopt;
  }
  // Segments of one digit: a chunk of each.
  if (global.size() != 1)
    return std::nullopt;
  Digits parts = local;
  if (parts.size() == 1)
    parts.push_back({1, outerStep});
  if (parts.size() != 2 || parts[1].step != outerStep || parts[0].extent * parts[0].step != extent * outerStep)
    return std::nullopt;
  sharding.segments = parts[0].extent;
  const std::int64_t chunk = parts[1].extent, segment = extent / parts[0].extent;
  if (!takeAxes(steps, chunk * outerStep, chunk, segment, sizes, sharding.axes) || segment % chunk != 0)
    return std::nullopt;
  return sharding;
}

} // namespace

std::optional<std::vector<DimSharding>> shardingBetween(const Indexing &local, std::span<const AxisStep> steps,
                                                        const Indexing &global, std::span<const std::uint32_t> sizes) {
  if (local.base != global.base || local.dims.size() != global.dims.size())
    return std::nullopt;
  std::vector<AxisStep> left(steps.begin(), steps.end());
  std::vector<DimSharding> result;
  for (std::size_t d = 0; d < global.dims.size(); ++d) {
    std::optional<DimSharding> sharding = shardingOfDim(local.dims[d], global.dims[d], left, sizes);
    if (!sharding)
      return std::nullopt;
    result.push_back(std::move(*sharding));
  }
  return left.empty() ? std::optional(std::move(result)) : std::nullopt;
}

Digits flattened(const Indexing &at) {
  Digits all;
  for (const Digits &digits : at.dims)
    all.insert(all.end(), digits.begin(), digits.end());
  return joined(all);
}

bool coversOnce(const Indexing &local, std::span<const AxisStep> steps, std::int64_t elements,
                std::span<const std::uint32_t> sizes) {
  // All digits, those of ranks included, are those of a mixed radix: each step is the product of the smaller digits.
  Digits digits;
  for (const Digits &dim : local.dims)
    digits.insert(digits.end(), dim.begin(), dim.end());
  for (const AxisStep &step : steps)
    digits.push_back({std::int64_t(sizes[step.axis]), step.step});
  std::erase_if(digits, [](const Digit &digit) { return digit.extent == 1; });
  std::sort(digits.begin(), digits.end(), [](const Digit &a, const Digit &b) { return a.step < b.step; });
  std::int64_t expected = 1;
  for (const Digit &digit : digits) {
    if (digit.step != expected)
      return false;
    expected *= digit.extent;
  }
  return local.base == 0 && expected >= elements;
}

Indexing shardIndexing(std::span<const std::int64_t> shape, std::span<const DimSharding> dims,
                       std::span<const std::uint32_t> sizes, std::vector<AxisStep> &steps) {
  Indexing result = denseIndexing(shape);
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (dims[d].isSharded()) {
      const std::int64_t chunk = dims[d].local / dims[d].segments;
      result.dims[d] = joined({{dims[d].segments, shape[d] / dims[d].segments * stride}, {chunk, stride}});
      std::int64_t step = chunk * stride;
      for (std::size_t a = dims[d].axes.size(); a-- > 0;) {
        steps.push_back({dims[d].axes[a], step});
        step *= sizes[dims[d].axes[a]];
      }
    }
    stride *= shape[d];
  }
  return result;
}

} // namespace sluice::check::proof
