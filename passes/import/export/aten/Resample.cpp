//===- Resample.cpp - interpolation and windows of images of ATen --------------------------===//
//
// Interpolations and means are a linear map of each dim in turn, whose coefficients are constants.
//
//===----------------------------------------------------------------------===//

#include "passes/import/export/aten/Elements.h"
#include "passes/import/export/aten/Operands.h"

#include <cmath>

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::resample {

using Sizes = llvm::SmallVector<std::int64_t>;

/// The extents of a spatial dim of the operand and of the result, and the given factor between them.
struct Extent {
  std::int64_t dim, from, to;
  std::optional<double> factor;
};
/// The number of elements of the operand for each one of the result.
double stepOf(const Extent &extent) {
  return extent.factor ? 1 / *extent.factor : static_cast<double>(extent.from) / static_cast<double>(extent.to);
}

/// An archive may state any size.
bool isSmall(Call &call, std::int64_t a, std::int64_t b) {
  constexpr std::int64_t most = std::int64_t(1) << 20;
  if (a >= 1 && b >= 1 && a <= most && b <= most / a)
    return true;
  call.refuse("windows or pixels of a dim with more than 2^20 coefficients, or none");
  return false;
}

std::optional<llvm::SmallVector<Extent>> extentsOf(Call &call, Value x, std::int64_t dims) {
  const Sizes &shape = call.result().sizes;
  const auto from = Call::shapeOf(x);
  llvm::SmallVector<Extent> extents;
  if (static_cast<std::int64_t>(shape.size()) <= dims || from.size() != shape.size()) {
    call.refuse("no images");
    return std::nullopt;
  }
  const llvm::SmallVector<double> factors = call.numbers("scale_factors");
  for (std::int64_t i = 0; i < dims; ++i) {
    const std::size_t dim = shape.size() - static_cast<std::size_t>(dims - i);
    if (!isSmall(call, from[dim], 1) || !isSmall(call, shape[dim], 1))
      return std::nullopt;
    extents.push_back({static_cast<std::int64_t>(dim), from[dim], shape[dim], std::nullopt});
    if (static_cast<std::int64_t>(factors.size()) == dims && factors[static_cast<std::size_t>(i)] > 0)
      extents.back().factor = factors[static_cast<std::size_t>(i)];
  }
  return extents;
}

/// torch computes these positions in f32.
template <std::int64_t dims, bool isExact> void nearest(Call &call) {
  Value x = call.value("input");
  const auto extents = extentsOf(call, x, dims);
  if (!extents)
    return;
  for (const Extent &extent : *extents) {
    const auto step = static_cast<float>(stepOf(extent));
    std::vector<std::int64_t> indices;
    for (std::int64_t i = 0; i < extent.to; ++i) {
      const float position = isExact ? (static_cast<float>(i) + 0.5F) * step : static_cast<float>(i) * step;
      indices.push_back(std::min(static_cast<std::int64_t>(std::floor(position)), extent.from - 1));
    }
    x = takeSlices(call, x, extent.dim, indices);
  }
  call.set(x);
}

/// A matrix [from, to].
struct Matrix {
  const Extent &extent;
  std::vector<double> values;
  explicit Matrix(const Extent &extent)
      : extent(extent), values(static_cast<std::size_t>(extent.from * extent.to), 0) {}
  /// Adds to a coefficient; positions outside are those of the first and last element.
  void add(std::int64_t from, std::int64_t to, double value) {
    values[static_cast<std::size_t>(std::clamp<std::int64_t>(from, 0, extent.from - 1) * extent.to + to)] += value;
  }
};
double positionOf(const Extent &extent, std::int64_t i, bool alignsCorners) {
  if (alignsCorners)
    return extent.to == 1 ? 0 : static_cast<double>(i * (extent.from - 1)) / static_cast<double>(extent.to - 1);
  return (static_cast<double>(i) + 0.5) * stepOf(extent) - 0.5;
}
Matrix linearMatrix(const Extent &extent, bool alignsCorners) {
  Matrix matrix(extent);
  for (std::int64_t i = 0; i < extent.to; ++i) {
    const double position = std::max(0.0, positionOf(extent, i, alignsCorners)), below = std::floor(position);
    matrix.add(static_cast<std::int64_t>(below), i, 1 - (position - below));
    matrix.add(static_cast<std::int64_t>(below) + 1, i, position - below);
  }
  return matrix;
}
/// Keys' convolution with a = -3/4.
Matrix cubicMatrix(const Extent &extent, bool alignsCorners) {
  constexpr double a = -0.75;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  Matrix matrix(extent);
  for (std::int64_t i = 0; i < extent.to; ++i) {
    const double position = positionOf(extent, i, alignsCorners), below = std::floor(position), t = position - below;
    const double weights[] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
    for (std::int64_t k = 0; k < 4; ++k)
      matrix.add(static_cast<std::int64_t>(below) + k - 1, i, weights[k]);
  }
  return matrix;
}
/// A triangle as wide as the elements of the result, so that all elements of the operand count.
Matrix triangleMatrix(const Extent &extent, bool alignsCorners) {
  Matrix matrix(extent);
  const double step = !alignsCorners   ? stepOf(extent)
                      : extent.to == 1 ? 0
                                       : static_cast<double>(extent.from - 1) / static_cast<double>(extent.to - 1);
  const double width = std::max(step, 1.0);
  for (std::int64_t i = 0; i < extent.to; ++i) {
    const double center = step * (static_cast<double>(i) + 0.5);
    const auto weight = [&](std::int64_t j) {
      return std::max(0.0, 1 - std::fabs(static_cast<double>(j) - center + 0.5) / width);
    };
    double total = 0;
    for (std::int64_t j = 0; j < extent.from; ++j)
      total += weight(j);
    for (std::int64_t j = 0; j < extent.from; ++j)
      matrix.add(j, i, weight(j) / total);
  }
  return matrix;
}
template <std::int64_t dims, Matrix (*matrixOf)(const Extent &, bool)> void interpolate(Call &call) {
  Value x = call.value("input");
  const auto extents = extentsOf(call, x, dims);
  if (!extents)
    return;
  for (const Extent &extent : *extents) {
    if (!isSmall(call, extent.from, extent.to))
      return;
    x = mapDim(call, x, extent.dim, matrixOf(extent, call.flag("align_corners")).values, extent.to);
  }
  call.set(x);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// A number for each of `dims`, from a list or from one number for all; of an empty list `otherwise`.
Sizes listOf(Call &call, llvm::StringRef name, std::int64_t dims, const Sizes &otherwise) {
  Sizes given = call.integers(name);
  if (given.empty())
    return otherwise;
  if (given.size() == 1)
    given.assign(static_cast<std::size_t>(dims), given.front());
  if (static_cast<std::int64_t>(given.size()) != dims) {
    call.refuse("argument '" + name.str() + "' has not one number for each dim");
    return Sizes(static_cast<std::size_t>(dims), 1);
  }
  return given;
}
struct Windows {
  Sizes kernel, stride, padding;
  Windows(Call &call, std::int64_t dims)
      : kernel(listOf(call, "kernel_size", dims, Sizes(static_cast<std::size_t>(dims), 1))),
        stride(listOf(call, "stride", dims, kernel)),
        padding(listOf(call, "padding", dims, Sizes(static_cast<std::size_t>(dims), 0))) {}
};
/// The first one of `dims` of x, whose images may have no batch.
std::size_t firstOf(Call &call, Value x, std::int64_t dims) {
  const std::int64_t rank = Call::rankOf(x);
  if ((rank != dims + 1 && rank != dims + 2) || call.result().sizes.size() != static_cast<std::size_t>(rank))
    call.refuse("no images");
  return static_cast<std::size_t>(std::max<std::int64_t>(rank - dims, 0));
}

/// Also of windows that end after the padded input.
template <std::int64_t dims> void mean(Call &call) {
  Value x = call.value("self");
  const std::size_t first = firstOf(call, x, dims);
  const Windows windows(call, dims);
  const bool countsPadding = call.flag("count_include_pad");
  const std::optional<double> divisor = dims == 1 ? std::nullopt : call.optionalNumber("divisor_override");
  if (!call.problem().empty())
    return;
  for (std::size_t d = 0; d < dims; ++d) {
    const Extent extent{static_cast<std::int64_t>(first + d), Call::shapeOf(x)[first + d],
                        call.result().sizes[first + d], std::nullopt};
    if (!isSmall(call, extent.from, extent.to))
      return;
    Matrix matrix(extent);
    for (std::int64_t i = 0; i < extent.to; ++i) {
      const std::int64_t start = i * windows.stride[d] - windows.padding[d],
                         padded = std::min(start + windows.kernel[d], extent.from + windows.padding[d]),
                         begin = std::max<std::int64_t>(start, 0), end = std::min(padded, extent.from);
      for (std::int64_t j = begin; j < end; ++j)
        matrix.add(j, i, divisor ? 1 : 1 / static_cast<double>(countsPadding ? padded - start : end - begin));
    }
    x = mapDim(call, x, extent.dim, matrix.values, extent.to);
  }
  call.set(divisor ? call.scale(x, 1 / *divisor) : x);
}

/// The windows of adaptive pools: [i n / m, (i + 1) n / m), rounded down and up.
std::pair<std::int64_t, std::int64_t> adaptiveWindow(const Extent &extent, std::int64_t i) {
  return {i * extent.from / extent.to, ((i + 1) * extent.from + extent.to - 1) / extent.to};
}
void adaptiveMean3d(Call &call) {
  Value x = call.value("self");
  const std::size_t first = firstOf(call, x, 3);
  if (!call.problem().empty())
    return;
  for (std::size_t dim = first; dim < first + 3; ++dim) {
    const Extent extent{static_cast<std::int64_t>(dim), Call::shapeOf(x)[dim], call.result().sizes[dim], std::nullopt};
    if (!isSmall(call, extent.from, extent.to))
      return;
    Matrix matrix(extent);
    for (std::int64_t i = 0; i < extent.to; ++i) {
      const auto [begin, end] = adaptiveWindow(extent, i);
      for (std::int64_t j = begin; j < end; ++j)
        matrix.add(j, i, 1 / static_cast<double>(end - begin));
    }
    x = mapDim(call, x, extent.dim, matrix.values, extent.to);
  }
  call.set(x);
}

/// The first of the largest elements of each window. `windows` has the elements of window i of a dim, all of which have
/// as many; -1 is less than any number.
void largestOf(Call &call, Value x, std::size_t first, llvm::ArrayRef<std::vector<std::vector<std::int64_t>>> windows) {
  const std::size_t rank = Call::shapeOf(x).size();
  Sizes separate(Call::shapeOf(x).take_front(first)), counts, kernels;
  for (auto [d, dim] : llvm::enumerate(windows)) {
    std::vector<std::int64_t> indices;
    bool hasOutside = false;
    for (const std::vector<std::int64_t> &window : dim)
      for (const std::int64_t at : window)
        indices.push_back(at), hasOutside |= at < 0;
    if (hasOutside) {
      Sizes low(rank, 0), high(rank, 0);
      low[first + d] = 1;
      x = call.pad(x, low, high, -INFINITY);
      for (std::int64_t &at : indices)
        ++at;
    }
    x = takeSlices(call, x, static_cast<std::int64_t>(first + d), indices);
    counts.push_back(static_cast<std::int64_t>(dim.size()));
    kernels.push_back(static_cast<std::int64_t>(dim.front().size()));
    separate.append({counts.back(), kernels.back()});
  }
  x = call.reshape(x, separate);
  Sizes permutation = llvm::to_vector(llvm::seq<std::int64_t>(0, static_cast<std::int64_t>(first))),
        shape(Call::shapeOf(x).take_front(first));
  std::int64_t window = 1;
  for (std::size_t d = 0; d < windows.size(); ++d)
    permutation.push_back(static_cast<std::int64_t>(first + 2 * d)), shape.push_back(counts[d]), window *= kernels[d];
  for (std::size_t d = 0; d < windows.size(); ++d)
    permutation.push_back(static_cast<std::int64_t>(first + 2 * d + 1));
  shape.push_back(window);
  x = call.reshape(call.transpose(x, permutation), shape);
  auto dim = call.builder.getI64IntegerAttr(static_cast<std::int64_t>(shape.size()) - 1);
  Value index = call.make<model::ArgmaxOp>({x}, {{"dim", dim}});
  shape.back() = 1;
  Value values = call.make<model::TakeAlongOp>({x, call.reshape(index, shape)}, {{"dim", dim}});
  call.set(call.reshape(values, call.result().sizes));
}
template <std::int64_t dims> void adaptiveLargest(Call &call) {
  Value x = call.value("self");
  const std::size_t first = firstOf(call, x, dims);
  if (!call.problem().empty())
    return;
  std::vector<std::vector<std::vector<std::int64_t>>> windows;
  for (std::size_t dim = first; dim < first + dims; ++dim) {
    const Extent extent{static_cast<std::int64_t>(dim), Call::shapeOf(x)[dim], call.result().sizes[dim], std::nullopt};
    if (!isSmall(call, extent.from, extent.to))
      return;
    std::int64_t longest = 0;
    for (std::int64_t i = 0; i < extent.to; ++i)
      longest = std::max(longest, adaptiveWindow(extent, i).second - adaptiveWindow(extent, i).first);
    auto &all = windows.emplace_back();
    for (std::int64_t i = 0; i < extent.to; ++i) {
      const auto [begin, end] = adaptiveWindow(extent, i);
      auto &window = all.emplace_back();
      for (std::int64_t j = 0; j < longest; ++j)
        window.push_back(begin + j < end ? begin + j : -1);
    }
  }
  largestOf(call, x, first, windows);
}
/// With any dilation, and in three dims; the indices of the maxima are no result here.
template <std::int64_t dims> void largest(Call &call) {
  Value x = call.value("self");
  const std::size_t first = firstOf(call, x, dims);
  const Windows given(call, dims);
  const Sizes dilation = listOf(call, "dilation", dims, Sizes(static_cast<std::size_t>(dims), 1));
  if (!call.problem().empty())
    return;
  std::vector<std::vector<std::vector<std::int64_t>>> windows;
  for (std::size_t d = 0; d < dims; ++d) {
    if (!isSmall(call, call.result().sizes[first + d], given.kernel[d]))
      return;
    auto &all = windows.emplace_back();
    for (std::int64_t i = 0; i < call.result().sizes[first + d]; ++i) {
      auto &window = all.emplace_back();
      for (std::int64_t j = 0; j < given.kernel[d]; ++j) {
        const std::int64_t at = i * given.stride[d] - given.padding[d] + j * dilation[d];
        window.push_back(at < 0 || at >= Call::shapeOf(x)[first + d] ? -1 : at);
      }
    }
  }
  largestOf(call, x, first, windows);
}

constexpr AtenOp table[] = {
    {"adaptive_avg_pool3d.default", adaptiveMean3d},
    {"adaptive_max_pool1d.default", adaptiveLargest<1>},
    {"adaptive_max_pool2d.default", adaptiveLargest<2>},
    {"adaptive_max_pool3d.default", adaptiveLargest<3>},
    {"avg_pool3d.default", mean<3>},
    {"max_pool1d_with_indices.default", largest<1>},
    {"max_pool2d_with_indices.default", largest<2>},
    {"max_pool3d.default", largest<3>},
    {"max_pool3d_with_indices.default", largest<3>},
    {"upsample_bicubic2d.vec", interpolate<2, cubicMatrix>},
    {"upsample_bilinear2d.vec", interpolate<2, linearMatrix>},
    {"upsample_linear1d.vec", interpolate<1, linearMatrix>},
    {"upsample_nearest1d.vec", nearest<1, false>},
    {"upsample_nearest3d.vec", nearest<3, false>},
    {"upsample_trilinear3d.vec", interpolate<3, linearMatrix>},
    {"_upsample_bilinear2d_aa.vec", interpolate<2, triangleMatrix>},
    {"_upsample_nearest_exact1d.vec", nearest<1, true>},
    {"_upsample_nearest_exact2d.vec", nearest<2, true>},
    {"_upsample_nearest_exact3d.vec", nearest<3, true>},
};

} // namespace sluice::exported::resample

void exported::averageWindows(Call &call, std::int64_t dims) {
  dims == 1 ? resample::mean<1>(call) : resample::mean<2>(call);
}
void exported::largestOfWindows(Call &call, std::int64_t dims) {
  dims == 1 ? resample::largest<1>(call) : resample::largest<2>(call);
}
void exported::nearestPixels(Call &call) { resample::nearest<2, false>(call); }

llvm::ArrayRef<AtenOp> exported::resampleOps() { return resample::table; }
