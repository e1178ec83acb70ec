//===- Softmax.cpp - softmax over the last dim, its derivative and its sum ----===//
#include "runtime/kernel/cpu/reference/References.h"

#include <cmath>
#include <limits>

namespace sluice::cpu::reference {

Bound logsumexp(const KernelRequest &request) {
  Check check(request);
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (x.rank < 1)
    return check.rank(x, 1);
  SLUICE_RETURN_IF_ERROR(check.rank(y, x.rank - 1));
  SLUICE_RETURN_IF_ERROR(check.dims(y, 0, y.rank, x));
  return makeKernel(request, [](Call &call) {
    Rows x(call.inputs[0]);
    const Operand &y = call.outputs[0];
    for (std::int64_t row = 0; row < x.rows; ++row) {
      std::int64_t from = x.offset(row);
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t c = 0; c < x.columns; ++c)
        largest = std::fmax(largest, load(*x.operand, from + c * x.stride));
      for (std::int64_t c = 0; c < x.columns && std::isfinite(largest); ++c)
        sum += std::exp(load(*x.operand, from + c * x.stride) - largest);
      store(y, offsetOf(y, 0, y.rank, row), std::isfinite(largest) ? largest + std::log(sum) : largest);
    }
    return Status::ok();
  });
}

Bound softmax(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(Check(request).extent(request.inputs[0], request.outputs[0]));
  return makeKernel(request, [](Call &call) {
    Rows x(call.inputs[0]), y(call.outputs[0]);
    for (std::int64_t row = 0; row < x.rows && x.columns; ++row) {
      std::int64_t from = x.offset(row), to = y.offset(row);
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t c = 0; c < x.columns; ++c)
        largest = std::fmax(largest, load(*x.operand, from + c * x.stride));
      for (std::int64_t c = 0; c < x.columns; ++c)
        sum += std::exp(load(*x.operand, from + c * x.stride) - largest);
      for (std::int64_t c = 0; c < x.columns; ++c)
        store(*y.operand, to + c * y.stride, std::exp(load(*x.operand, from + c * x.stride) - largest) / sum);
    }
    return Status::ok();
  });
}

/// dx = y * (dy - sum(dy * y))
Bound softmax_grad(const KernelRequest &request) {
  for (const Operand &input : request.inputs)
    SLUICE_RETURN_IF_ERROR(Check(request).extent(input, request.outputs[0]));
  return makeKernel(request, [](Call &call) {
    Rows dy(call.inputs[0]), y(call.inputs[1]), dx(call.outputs[0]);
    for (std::int64_t row = 0; row < y.rows && y.columns; ++row) {
      std::int64_t dyAt = dy.offset(row), yAt = y.offset(row), dxAt = dx.offset(row);
      double sum = 0;
      for (std::int64_t c = 0; c < y.columns; ++c)
        sum += load(*dy.operand, dyAt + c * dy.stride) * load(*y.operand, yAt + c * y.stride);
      for (std::int64_t c = 0; c < y.columns; ++c)
        store(*dx.operand, dxAt + c * dx.stride,
              load(*y.operand, yAt + c * y.stride) * (load(*dy.operand, dyAt + c * dy.stride) - sum));
    }
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
