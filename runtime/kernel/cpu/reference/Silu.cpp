//===- Silu.cpp - silu and swiglu -----------------------------------===//
//
//   silu x = x s,   s = 1 / (1 + exp(-x)),   d silu = s + silu x (1 - s)
//   swiglu = silu(gate) up:   dgate = dy up d silu(gate),   dup = dy silu(gate)
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/reference/Elementwise.h"

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

Bound silu(const KernelRequest &request) { return elementwise<1>(request, siluOf); }

Bound silu_grad(const KernelRequest &request) {
  return elementwise<2>(request, [](double dy, double x) { return dy * slope(x); });
}

Bound swiglu(const KernelRequest &request) {
  return elementwise<2>(request, [](double gate, double up) { return siluOf(gate) * up; });
}

Bound swiglu_grad(const KernelRequest &request) {
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
