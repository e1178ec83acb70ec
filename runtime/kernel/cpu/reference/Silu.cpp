//===- Silu.cpp - silu, alone and as a gate -----------------------------------===//
//
//   silu x = x s,   s = 1 / (1 + exp(-x)),   d silu = s + silu x (1 - s)
//   swiglu = silu(gate) up:   dgate = dy up d silu(gate),   dup = dy silu(gate)
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/reference/References.h"

#include <cmath>

namespace sluice::cpu::reference {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double siluOf(double x) { return x == -std::numeric_limits<double>::infinity() ? -0.0 : x * logistic(x); }
// 1 - s is s of -x: no cancellation. Where the product is 0, x may be infinite.
double slope(double x) {
  double rest = logistic(x) * logistic(-x);
  return logistic(x) + (rest == 0 ? 0 : x * rest);
}

} // namespace

Bound silu(const KernelRequest &request) {
  Check check("silu", request);
  SLUICE_RETURN_IF_ERROR(check.extent(request.inputs[0], request.outputs[0]));
  return makeKernel(request, [](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    walk<2>(y.rank, y.extent, {x.strides, y.strides}, [&](auto &at) { store(y, at[1], siluOf(load(x, at[0]))); });
    return Status::ok();
  });
}

Bound silu_grad(const KernelRequest &request) {
  Check check("silu_grad", request);
  for (const Operand &input : request.inputs)
    SLUICE_RETURN_IF_ERROR(check.extent(input, request.outputs[0]));
  return makeKernel(request, [](Call &call) {
    const Operand &dy = call.inputs[0], &x = call.inputs[1], &dx = call.outputs[0];
    walk<3>(dx.rank, dx.extent, {dy.strides, x.strides, dx.strides},
            [&](auto &at) { store(dx, at[2], load(dy, at[0]) * slope(load(x, at[1]))); });
    return Status::ok();
  });
}

Bound swiglu(const KernelRequest &request) {
  Check check("swiglu", request);
  for (const Operand &input : request.inputs)
    SLUICE_RETURN_IF_ERROR(check.extent(input, request.outputs[0]));
  return makeKernel(request, [](Call &call) {
    const Operand &x = call.inputs[0], &up = call.inputs[1], &y = call.outputs[0];
    walk<3>(y.rank, y.extent, {x.strides, up.strides, y.strides},
            [&](auto &at) { store(y, at[2], siluOf(load(x, at[0])) * load(up, at[1])); });
    return Status::ok();
  });
}

Bound swiglu_grad(const KernelRequest &request) {
  Check check("swiglu_grad", request);
  for (const Operand &input : request.inputs)
    SLUICE_RETURN_IF_ERROR(check.extent(input, request.outputs[0]));
  SLUICE_RETURN_IF_ERROR(check.extent(request.outputs[1], request.outputs[0]));
  return makeKernel(request, [](Call &call) {
    const Operand &dy = call.inputs[0], &x = call.inputs[1], &up = call.inputs[2];
    const Operand &dx = call.outputs[0], &dup = call.outputs[1];
    walk<5>(dx.rank, dx.extent, {dy.strides, x.strides, up.strides, dx.strides, dup.strides}, [&](auto &at) {
      double g = load(dy, at[0]), gateValue = load(x, at[1]), upValue = load(up, at[2]);
      store(dx, at[3], g * upValue * slope(gateValue));
      store(dup, at[4], g * siluOf(gateValue));
    });
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
