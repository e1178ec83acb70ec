//===- RopeShape.cpp - resolving the operands of rope --------------------------===//
#include "runtime/kernel/cpu/RopeShape.h"

#include <cmath>
#include <numbers>

namespace sluice::cpu {
namespace {

/// Frequencies unscaled, divided, or divided if their wavelength is long compared with the original length.
struct Scaling {
  double factor = 1, low = 0, high = 0, original = 0;

  double apply(double frequency) const {
    if (original == 0)
      return frequency / factor;
    double waves = original * frequency / (2 * std::numbers::pi);
    if (waves > high)
      return frequency;
    if (waves < low)
      return frequency / factor;
    double share = (waves - low) / (high - low);
    return (1 - share) * frequency / factor + share * frequency;
  }
};

bool isPositive(double number) { return std::isfinite(number) && number > 0; }

} // namespace

Result<RopeShape> RopeShape::of(const KernelRequest &request) {
  Check check(request);
  const Operand &x = request.inputs[0];
  RopeShape shape;
  shape.batch = x.extent[0];
  shape.rows = x.extent[1];
  shape.heads = x.extent[2];
  shape.size = x.extent[3];
  if (shape.size < 2 || shape.size % 2)
    return check.refuse("head size, expected an even number above 0 but got ", shape.size);
  shape.position = request.attributes->integer("position");
  shape.inverse = request.attributes->integer("inverse") != 0;
  shape.packed = request.attributes->integer("packed") != 0;
  double theta = request.attributes->number("theta");
  Scaling scaling{request.attributes->number("factor"), request.attributes->number("low"),
                  request.attributes->number("high"), request.attributes->number("original")};
  if (!isPositive(theta) || !isPositive(scaling.factor))
    return check.refuse("theta and factor, expected positive numbers but got ", theta, " and ", scaling.factor);
  if (scaling.original != 0 && !(isPositive(scaling.original) && isPositive(scaling.low) && isPositive(scaling.high) &&
                                 scaling.low < scaling.high))
    return check.refuse("low and high, expected 0 < low < high but got ", scaling.low, " and ", scaling.high);
  const std::span<const std::int64_t> divisors = request.attributes->list("divisors");
  if (!divisors.empty() && static_cast<std::int64_t>(divisors.size()) != shape.size / 2)
    return check.refuse("divisors, expected ", shape.size / 2, " of them but got ", divisors.size());
  for (std::int64_t divisor : divisors)
    if (divisor < 1)
      return check.refuse("divisors, expected numbers above 0 but got ", divisor);
  for (std::int64_t i = 0; i < shape.size / 2; ++i) {
    double frequency = scaling.apply(std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(shape.size)));
    // A divisor of 1 is 2^32.
    if (!divisors.empty())
      frequency /= std::ldexp(static_cast<double>(divisors[static_cast<std::size_t>(i)]), -32);
    shape.frequencies.push_back(frequency);
  }
  return shape;
}

} // namespace sluice::cpu
