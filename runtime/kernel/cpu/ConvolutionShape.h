//===- ConvolutionShape.h - the operands of a convolution or pooling, resolved --------------===//
//
// Images are [N, H, W, C]; a weight is [O, C / groups, h, w].
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_CONVOLUTIONSHAPE_H
#define SLUICE_RUNTIME_KERNEL_CPU_CONVOLUTIONSHAPE_H

#include "runtime/kernel/cpu/Bound.h"

namespace sluice::cpu {

/// Two numbers, of height and of width.
using Pair = std::array<std::int64_t, 2>;

struct ConvolutionShape {
  std::int64_t images = 0, inputs = 0, outputs = 0, groups = 1;
  Pair in{}, out{}, kernel{}, stride{}, padding{}, dilation{};

  /// x, weight and y by their roles; attributes from the request.
  static Result<ConvolutionShape> of(const KernelRequest &request, const Operand &x, const Operand &weight,
                                     const Operand &y);

  /// The input position of a window's element, or -1 for padding.
  std::int64_t place(int dim, std::int64_t window, std::int64_t element) const {
    std::int64_t at = window * stride[dim] - padding[dim] + element * dilation[dim];
    return at < in[dim] ? (at < 0 ? -1 : at) : -1;
  }
};

struct PoolShape {
  std::int64_t images = 0, channels = 0;
  Pair in{}, out{}, kernel{}, stride{}, padding{};
  bool adaptive = false, withoutPadding = false;

  static Result<PoolShape> of(const KernelRequest &request, const Operand &x, const Operand &y);

  /// The elements [begin, end) of a window that are no padding.
  std::int64_t begin(int dim, std::int64_t window) const {
    return adaptive ? window * in[dim] / out[dim] : std::max<std::int64_t>(window * stride[dim] - padding[dim], 0);
  }
  std::int64_t end(int dim, std::int64_t window) const {
    return adaptive ? ((window + 1) * in[dim] + out[dim] - 1) / out[dim]
                    : std::min(window * stride[dim] - padding[dim] + kernel[dim], in[dim]);
  }
  /// body(p, q) for each element of a window that is no padding, in row order.
  template <typename Body> void forWindow(std::int64_t i, std::int64_t j, Body body) const {
    for (std::int64_t p = begin(0, i); p < end(0, i); ++p)
      for (std::int64_t q = begin(1, j); q < end(1, j); ++q)
        body(p, q);
  }
  /// The divisor of a window's sum. A window that extends beyond the padded input is smaller.
  std::int64_t divisor(std::int64_t i, std::int64_t j) const {
    if (adaptive || withoutPadding)
      return (end(0, i) - begin(0, i)) * (end(1, j) - begin(1, j));
    auto size = [&](int dim, std::int64_t window) {
      std::int64_t from = window * stride[dim] - padding[dim];
      return std::min(from + kernel[dim], in[dim] + padding[dim]) - from;
    };
    return size(0, i) * size(1, j);
  }
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_CONVOLUTIONSHAPE_H
