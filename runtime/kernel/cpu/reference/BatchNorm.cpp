//===- BatchNorm.cpp - batch norm over all dims but the last, running statistics --------------===//
#include "runtime/kernel/cpu/reference/Elementwise.h"

#include <cmath>

namespace sluice::cpu::reference {
namespace {

double of(const Operand &vector, std::int64_t c) { return load(vector, c * vector.strides[0]); }
void put(const Operand &vector, std::int64_t c, double value) { store(vector, c * vector.strides[0], value); }

} // namespace

Bound batch_norm(const KernelRequest &request) {
  double epsilon = request.attributes->number("epsilon");
  return makeKernel(request, [epsilon](Call &call) {
    Rows x(call.inputs[0]), y(call.outputs[0]);
    auto count = static_cast<double>(x.rows);
    for (std::int64_t c = 0; c < x.columns; ++c) {
      double sum = 0, squares = 0;
      for (std::int64_t row = 0; row < x.rows; ++row)
        sum += x.load(row, c);
      double mean = sum / count;
      for (std::int64_t row = 0; row < x.rows; ++row)
        squares += (x.load(row, c) - mean) * (x.load(row, c) - mean);
      double variance = squares / count, rstd = 1 / std::sqrt(variance + epsilon);
      for (std::int64_t row = 0; row < x.rows; ++row)
        y.store(row, c, (x.load(row, c) - mean) * rstd * of(call.inputs[1], c) + of(call.inputs[2], c));
      put(call.outputs[1], c, mean);
      put(call.outputs[2], c, variance);
    }
    return Status::ok();
  });
}

/// With u the normalized x: dbias = sum dy, dweight = sum dy u, dx = weight rstd (dy - dbias / n - u dweight / n).
Bound batch_norm_grad(const KernelRequest &request) {
  double epsilon = request.attributes->number("epsilon");
  return makeKernel(request, [epsilon, adds = request.adds](Call &call) {
    Rows dy(call.inputs[0]), x(call.inputs[1]), dx(call.outputs[0]);
    auto count = static_cast<double>(x.rows);
    for (std::int64_t c = 0; c < x.columns; ++c) {
      double mean = of(call.inputs[3], c), rstd = 1 / std::sqrt(of(call.inputs[4], c) + epsilon);
      double dbias = 0, dweight = 0;
      for (std::int64_t row = 0; row < x.rows; ++row) {
        dbias += dy.load(row, c);
        dweight += dy.load(row, c) * (x.load(row, c) - mean) * rstd;
      }
      double factor = of(call.inputs[2], c) * rstd;
      for (std::int64_t row = 0; row < x.rows; ++row) {
        double u = (x.load(row, c) - mean) * rstd;
        dx.store(row, c, factor * (dy.load(row, c) - dbias / count - u * dweight / count));
      }
      storeResult(call.outputs[1], c * call.outputs[1].strides[0], dweight, adds[1]);
      storeResult(call.outputs[2], c * call.outputs[2].strides[0], dbias, adds[2]);
    }
    return Status::ok();
  });
}

Bound running_average(const KernelRequest &request) {
  double momentum = request.attributes->number("momentum"), factor = request.attributes->number("factor");
  return elementwise<2>(request, [momentum, factor](double old, double value) {
    return (1 - momentum) * old + momentum * factor * value;
  });
}

Bound count_up(const KernelRequest &request) {
  return makeKernel(request, [](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    walk<2>(y.rank, y.extent, {x.strides, y.strides}, [&](auto &at) {
      y.as<std::int64_t>()[at[1]] =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(x.as<std::int64_t>()[at[0]]) + 1);
    });
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
