//===- Indexing.cpp - where the elements of a tensor are in another one --------------------===//
//
// See Indexing.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/Indexing.h"

#include <algorithm>

namespace sluice::check::proof {

std::int64_t levelBase(std::span<const Bound> bounds, std::int64_t end, std::int64_t index) {
  for (std::size_t b = bounds.size(); b-- > 0 && bounds[b].end > end;)
    index %= bounds[b].end;
  return index % end;
}

Digits joined(const Digits &digits) { return joined(digits, {}); }

Digits joined(const Digits &digits, std::span<const Bound> bounds) {
  Digits result;
  result.reserve(digits.size());
  for (const Digit &digit : digits) {
    if (digit.extent == 1)
      continue;
    const bool isSeparate = !result.empty() && std::ranges::any_of(bounds, [&](const Bound &bound) {
      return bound.separates(result.back().step, digit.step);
    });
    if (!result.empty() && !isSeparate && result.back().step == digit.step * digit.extent)
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

bool hasShape(const Indexing &indexing, std::span<const std::int64_t> shape) {
  return std::ranges::equal(indexing.dims, shape, {}, extentOf);
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

bool isRowMajor(const Indexing &at, std::span<const std::int64_t> shape) {
  if (at.base != 0 || at.dims.size() != shape.size())
    return false;
  std::int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0; step *= shape[d]) {
    const Digits &digits = at.dims[d];
    if (shape[d] == 1 ? !digits.empty() : digits.size() != 1 || digits[0] != Digit{shape[d], step})
      return false;
  }
  return true;
}

Indexing denseIndexing(std::span<const std::int64_t> shape) { return indexingOf(shape, 1); }
Indexing uniformIndexing(std::span<const std::int64_t> shape) { return indexingOf(shape, 0); }

std::optional<Indexing> reshaped(const Indexing &indexing, std::span<const std::int64_t> shape,
                                 std::span<const Bound> bounds) {
  Digits all;
  for (const Digits &digits : indexing.dims)
    all.insert(all.end(), digits.begin(), digits.end());
  all = joined(all, bounds);
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
    if (std::size_t(dim) >= isTaken.size() || isTaken[dim])
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

Digits flattened(const Indexing &at) {
  Digits all;
  for (const Digits &digits : at.dims)
    all.insert(all.end(), digits.begin(), digits.end());
  return joined(all);
}

} // namespace sluice::check::proof
