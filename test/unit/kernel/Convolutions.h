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

inline Shape resultOf(const Convolution &c) {
  Shape y = {c.x[0], 0, 0, c.weight[0]};
  for (std::size_t d = 0; d < 2; ++d)
    y[1 + d] = (c.x[1 + d] + 2 * c.padding[d] - c.dilation[d] * (c.weight[2 + d] - 1) - 1) / c.stride[d] + 1;
  return y;
}

inline std::vector<Attributes::Item> attributesOf(const Convolution &c) {
  return {{"stride", 0, 0, c.stride}, {"padding", 0, 0, c.padding}, {"dilation", 0, 0, c.dilation},
          {"groups", c.groups, 0, {}}};
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_KERNEL_CONVOLUTIONS_H
