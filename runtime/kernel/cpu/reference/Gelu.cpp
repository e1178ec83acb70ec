//===- Gelu.cpp - gelu in its erf and tanh forms ------------------------------===//
//
//   erf   y = x/2 (1 + erf(x / sqrt 2))
//   tanh  y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/cpu/reference/Elementwise.h"

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

static bool isTanhForm(const KernelRequest &request) {
  return request.attributes->choice<kernel::GeluForm>("approximate") == kernel::GeluForm::tanh;
}

Bound gelu(const KernelRequest &request) { return elementwise<1>(request, isTanhForm(request) ? tanhForm : erfForm); }

Bound gelu_grad(const KernelRequest &request) {
  auto slope = isTanhForm(request) ? tanhSlope : erfSlope;
  return elementwise<2>(request, [slope](double dy, double x) { return dy * slope(x); });
}

} // namespace sluice::cpu::reference
