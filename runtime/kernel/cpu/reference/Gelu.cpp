//===- Gelu.cpp - gelu in its erf and tanh forms ------------------------------===//
//
//   erf   y = x/2 (1 + erf(x / sqrt 2))
//   tanh  y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/cpu/reference/References.h"

#include <cmath>

namespace sluice::cpu::reference {
namespace {

constexpr double rootTwoOverPi = 0.79788456080286535588, rootHalf = 0.70710678118654752440;
constexpr double inverseRootTwoPi = 0.39894228040143267794, cubic = 0.044715;

double erfForm(double x) { return 0.5 * x * std::erfc(-x * rootHalf); }
double erfSlope(double x) {
  return 0.5 * std::erfc(-x * rootHalf) + (std::isinf(x) ? 0 : x * inverseRootTwoPi * std::exp(-0.5 * x * x));
}

// (1 + tanh u) / 2 = 1 / (1 + exp(-2u)): no cancellation at large negative x.
double gate(double x) { return 1 / (1 + std::exp(-2 * rootTwoOverPi * (x + cubic * x * x * x))); }
double tanhForm(double x) { return x * gate(x); }
double tanhSlope(double x) {
  double g = gate(x);
  double rest = 2 * g * (1 - g);
  return g + (rest == 0 ? 0 : x * rest * rootTwoOverPi * (1 + 3 * cubic * x * x));
}

} // namespace

Bound gelu(const KernelRequest &request) {
  Check check("gelu", request);
  SLUICE_RETURN_IF_ERROR(check.extent(request.inputs[0], request.outputs[0]));
  auto form =
      request.attributes->choice<kernel::GeluForm>("approximate") == kernel::GeluForm::tanh ? tanhForm : erfForm;
  return makeKernel(request, [form](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    walk<2>(y.rank, y.extent, {x.strides, y.strides}, [&](auto &at) { store(y, at[1], form(load(x, at[0]))); });
    return Status::ok();
  });
}

Bound gelu_grad(const KernelRequest &request) {
  Check check("gelu_grad", request);
  for (const Operand &input : request.inputs)
    SLUICE_RETURN_IF_ERROR(check.extent(input, request.outputs[0]));
  auto slope =
      request.attributes->choice<kernel::GeluForm>("approximate") == kernel::GeluForm::tanh ? tanhSlope : erfSlope;
  return makeKernel(request, [slope](Call &call) {
    const Operand &dy = call.inputs[0], &x = call.inputs[1], &dx = call.outputs[0];
    walk<3>(dx.rank, dx.extent, {dy.strides, x.strides, dx.strides},
            [&](auto &at) { store(dx, at[2], load(dy, at[0]) * slope(load(x, at[1]))); });
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
