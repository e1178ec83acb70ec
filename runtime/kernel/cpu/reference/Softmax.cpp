//===- Softmax.cpp - softmax over the last dim, its derivative and its sum ----===//
#include "runtime/kernel/cpu/CpuKernels.h"

#include <cmath>
#include <limits>

namespace sluice::cpu::reference {

Bound logsumexp(const KernelRequest &request) {
  return makeKernel(request, [](Call &call) {
    Rows x(call.inputs[0]);
    const Operand &y = call.outputs[0];
    for (std::int64_t row = 0; row < x.rows; ++row) {
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t c = 0; c < x.columns; ++c)
        largest = std::fmax(largest, x.load(row, c));
      for (std::int64_t c = 0; c < x.columns && std::isfinite(largest); ++c)
        sum += std::exp(x.load(row, c) - largest);
      storeAt(y, row, std::isfinite(largest) ? largest + std::log(sum) : largest);
    }
    return Status::ok();
  });
}

Bound softmax(const KernelRequest &request) {
  return makeKernel(request, [](Call &call) {
    Rows x(call.inputs[0]), y(call.outputs[0]);
    for (std::int64_t row = 0; row < x.rows && x.columns; ++row) {
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t c = 0; c < x.columns; ++c)
        largest = std::fmax(largest, x.load(row, c));
      for (std::int64_t c = 0; c < x.columns; ++c)
        sum += std::exp(x.load(row, c) - largest);
      for (std::int64_t c = 0; c < x.columns; ++c)
        y.store(row, c, std::exp(x.load(row, c) - largest) / sum);
    }
    return Status::ok();
  });
}

/// dx = y * (dy - sum(dy * y))
Bound softmax_grad(const KernelRequest &request) {
  return makeKernel(request, [](Call &call) {
    Rows dy(call.inputs[0]), y(call.inputs[1]), dx(call.outputs[0]);
    for (std::int64_t row = 0; row < y.rows && y.columns; ++row) {
      double sum = 0;
      for (std::int64_t c = 0; c < y.columns; ++c)
        sum += dy.load(row, c) * y.load(row, c);
      for (std::int64_t c = 0; c < y.columns; ++c)
        dx.store(row, c, y.load(row, c) * (dy.load(row, c) - sum));
    }
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
