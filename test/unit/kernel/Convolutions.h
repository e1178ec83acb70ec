//===- Convolutions.h - convolutions as tests write them -----------------------===//
#ifndef SLUICE_TEST_UNIT_KERNEL_CONVOLUTIONS_H
#define SLUICE_TEST_UNIT_KERNEL_CONVOLUTIONS_H

#include "test/unit/kernel/Harness.h"

namespace sluice::test {

struct Convolution {
  const char *name;
  Shape x, weight;
  std::vector<std::int64_t> stride, padding, dilation;
  std::int64_t groups;
};

/// Small ones of every kind, which the kernels of every device take, and further ones.
inline std::vector<Convolution> smallConvolutionsAnd(const std::vector<Convolution> &further) {
  std::vector<Convolution> all = {
      {"plain", {2, 9, 11, 3}, {4, 3, 3, 3}, {1, 1}, {0, 0}, {1, 1}, 1},
      {"strided", {2, 9, 11, 6}, {4, 6, 3, 3}, {2, 3}, {1, 0}, {1, 1}, 1},
      {"dilated", {2, 9, 11, 2}, {3, 2, 3, 3}, {1, 1}, {1, 1}, {2, 2}, 1},
      {"groups", {2, 9, 11, 4}, {6, 2, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 2},
      {"depthwise", {2, 9, 11, 4}, {4, 1, 3, 3}, {1, 1}, {0, 0}, {1, 1}, 4},
      {"pointwise", {2, 5, 6, 5}, {3, 5, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
      {"one place", {1, 3, 3, 2}, {2, 2, 3, 3}, {1, 1}, {0, 0}, {1, 1}, 1},
  };
  all.insert(all.end(), further.begin(), further.end());
  return all;
}

inline Shape resultOf(const Convolution &c) {
  Shape y = {c.x[0], 0, 0, c.weight[0]};
  for (std::size_t d = 0; d < 2; ++d)
    y[1 + d] = (c.x[1 + d] + 2 * c.padding[d] - c.dilation[d] * (c.weight[2 + d] - 1) - 1) / c.stride[d] + 1;
  return y;
}

inline std::vector<Attributes::Item> attributesOf(const Convolution &c) {
  return {{"stride", 0, 0, c.stride},
          {"padding", 0, 0, c.padding},
          {"dilation", 0, 0, c.dilation},
          {"groups", c.groups, 0, {}}};
}

/// Calls `compare(run, inputs, outputs, terms)` for the kernels of a convolution, all of its tensors in one layout:
/// forward with a bias, if requested, and without, and both derivatives. `terms`: number of products that are added.
template <typename Compare>
void forConvolutionKernels(const Convolution &c, DType dtype, Layout layout, bool withBias, Compare compare) {
  const Shape shape = resultOf(c);
  const Tensor x = Tensor(dtype, c.x, layout).normal(1), weight = Tensor(dtype, c.weight, layout).normal(2);
  const Tensor bias = Tensor(dtype, {c.weight[0]}).normal(3), dy = Tensor(dtype, shape, layout).normal(4);
  const auto attributes = attributesOf(c);
  const auto terms = static_cast<double>(c.weight[1] * c.weight[2] * c.weight[3]);
  using Tensors = std::vector<Tensor>;
  if (withBias)
    compare(Run{"conv2d", {}, 1, attributes}, Tensors{x, weight, bias}, Tensors{Tensor(dtype, shape, layout)}, terms);
  compare(Run{"conv2d", {}, 1, attributes}, Tensors{x, weight}, Tensors{Tensor(dtype, shape)}, terms);
  compare(Run{"conv2d_input_grad", {}, 1, attributes}, Tensors{dy, weight}, Tensors{Tensor(dtype, c.x, layout)},
          terms * static_cast<double>(c.weight[0]));
  compare(Run{"conv2d_weight_grad", {}, 1, attributes}, Tensors{dy, x}, Tensors{Tensor(dtype, c.weight, layout)},
          static_cast<double>(c.x[0] * c.x[1] * c.x[2]));
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_KERNEL_CONVOLUTIONS_H
