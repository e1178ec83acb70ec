//===- FakeDnnOperations.h - elements, windows and pointwise modes of cuDNN operations ------===//
#ifndef SLUICE_TEST_CUDA_FAKEDNNOPERATIONS_H
#define SLUICE_TEST_CUDA_FAKEDNNOPERATIONS_H

#include "test/cuda/FakeDnnGraph.h"

#include <cmath>

namespace sluice::test {

using Longs = std::vector<std::int64_t>;

/// Calls `body(position, index)` for each element, row-major.
template <typename Body> void forElements(const Longs &extent, Body body) {
  Longs at(extent.size(), 0);
  std::int64_t count = 1;
  for (const std::int64_t e : extent)
    count *= e;
  for (std::int64_t i = 0; i < count; ++i) {
    body(i, at);
    for (std::size_t d = extent.size(); d-- > 0 && ++at[d] == extent[d];)
      at[d] = 0;
  }
}

/// The position of `at` in a tensor that may have fewer heads, or one element for all.
inline std::int64_t positionOf(const Longs &extent, const Longs &frame, const Longs &at) {
  std::int64_t position = 0;
  for (std::size_t d = 0; d < extent.size(); ++d)
    position = position * extent[d] + at[d] / (frame[d] / extent[d]);
  return position;
}

inline Longs windowNumbers(const FakeDescriptor &mode, int attribute) {
  if (mode.kind == cuda::dnn::convolution)
    return mode.all<std::int64_t>(attribute);
  Longs numbers;
  for (const cuda::dnn::Fraction &one : mode.all<cuda::dnn::Fraction>(attribute))
    numbers.push_back(one.numerator / one.denominator);
  return numbers;
}

struct Window {
  Longs size, stride, before, behind, dilation;
};
inline Window windowOf(const FakeDescriptor &mode, const Longs &weight) {
  if (mode.kind == cuda::dnn::convolution)
    return {{weight[2], weight[3]},
            windowNumbers(mode, cuda::dnn::convolutionStrides),
            windowNumbers(mode, cuda::dnn::convolutionPaddingBefore),
            windowNumbers(mode, cuda::dnn::convolutionPaddingBehind),
            windowNumbers(mode, cuda::dnn::convolutionDilations)};
  return {windowNumbers(mode, cuda::dnn::resampleWindow),
          windowNumbers(mode, cuda::dnn::resampleStrides),
          windowNumbers(mode, cuda::dnn::resamplePaddingBefore),
          windowNumbers(mode, cuda::dnn::resamplePaddingBehind),
          {1, 1}};
}
inline bool fitsWindow(const Window &w, const Longs &x, const Longs &y) {
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t reach = w.dilation[d] * (w.size[d] - 1) + 1, room = x[d + 2] + w.before[d] + w.behind[d] - reach;
    if (room < 0 || room / w.stride[d] + 1 != y[d + 2])
      return false;
  }
  return x[0] == y[0];
}

/// Calls `body(x place, h, w of the window)` for the elements of a window that are in the image.
template <typename Body> void forWindow(const Window &w, const Longs &x, std::int64_t i, std::int64_t j, Body body) {
  for (std::int64_t h = 0; h < w.size[0]; ++h)
    for (std::int64_t v = 0; v < w.size[1]; ++v) {
      const std::int64_t row = i * w.stride[0] - w.before[0] + h * w.dilation[0],
                         column = j * w.stride[1] - w.before[1] + v * w.dilation[1];
      if (row >= 0 && row < x[2] && column >= 0 && column < x[3])
        body(row * x[3] + column, h, v);
    }
}

inline Longs extentOf(const FakeDescriptor &operation, int attribute) {
  return operation.descriptor(attribute)->all<std::int64_t>(cuda::dnn::tensorExtent);
}

/// The result of a pointwise mode.
inline double apply(int mode, double x, double b, double t, bool hasT) {
  switch (mode) {
  case cuda::dnn::add:
    return x + b;
  case cuda::dnn::multiply:
    return x * b;
  case cuda::dnn::subtract:
    return x - b;
  case cuda::dnn::divide:
    return x / b;
  case cuda::dnn::exponential:
    return std::exp(x);
  case cuda::dnn::logarithm:
    return std::log(x);
  case cuda::dnn::atLeast:
    return x >= b;
  case cuda::dnn::greater:
    return x > b;
  case cuda::dnn::select:
    return hasT && t != 0 ? x : b;
  default:
    return std::nan("");
  }
}

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_FAKEDNNOPERATIONS_H
