//===- Special.cpp - special functions of ATen that are computed in f64 --------------------===//
//
// A branch that is not selected reads a number of its range, so that its derivative is finite.
//
//===----------------------------------------------------------------------===//

#include "passes/import/export/aten/Operands.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::special {

constexpr double pi = std::numbers::pi;

Value number(Call &call, double value, Value like) { return call.scalar(value, like); }
Value plus(Call &call, Value x, double value) { return add(call, x, number(call, value, x)); }
/// value - x.
Value minusFrom(Call &call, double value, Value x) { return subtract(call, number(call, value, x), x); }
Value over(Call &call, double value, Value x) { return divide(call, number(call, value, x), x); }
Value square(Call &call, Value x) { return multiply(call, x, x); }
Value root(Call &call, Value x) { return call.make<model::SqrtOp>(x); }
Value logarithm(Call &call, Value x) { return call.make<model::LogOp>(x); }
Value exponential(Call &call, Value x) { return call.make<model::ExpOp>(x); }
Value is(Call &call, Value x, ComparePredicate predicate, double value) {
  return call.compare(x, predicate, number(call, value, x));
}
/// c0 + c1 x + c2 x^2 + ...
Value polynomial(Call &call, Value x, llvm::ArrayRef<double> coefficients) {
  Value sum = call.broadcast(number(call, coefficients.back(), x), Call::shapeOf(x));
  for (const double each : llvm::reverse(coefficients.drop_back()))
    sum = plus(call, multiply(call, sum, x), each);
  return sum;
}

//===----------------------------------------------------------------------===//
// Angles
//===----------------------------------------------------------------------===//

/// Of |x| <= 1: four times atan(x) = 2 atan(x / (1 + sqrt(1 + x^2))), then the series.
Value arcTangentOfPart(Call &call, Value x) {
  for (int i = 0; i < 4; ++i)
    x = divide(call, x, plus(call, root(call, plus(call, square(call, x), 1)), 1));
  const double series[] = {1, -1.0 / 3, 1.0 / 5, -1.0 / 7, 1.0 / 9, -1.0 / 11, 1.0 / 13};
  return call.scale(multiply(call, x, polynomial(call, square(call, x), series)), 16);
}
/// `a` or -`a`, with the sign of x.
Value signedLike(Call &call, double a, Value x) {
  Value both = call.broadcast(number(call, a, x), Call::shapeOf(x));
  return call.select(is(call, x, ComparePredicate::lt, 0), negate(call, both), both);
}
Value arcTangent(Call &call, Value x) {
  Value isPart = is(call, magnitude(call, x), ComparePredicate::le, 1), one = number(call, 1, x);
  Value part = arcTangentOfPart(call, call.select(isPart, x, over(call, 1, call.select(isPart, one, x))));
  return call.select(isPart, part, subtract(call, signedLike(call, pi / 2, x), part));
}
Value arcSine(Call &call, Value x) {
  Value cosine = root(call, minusFrom(call, 1, square(call, x)));
  return call.scale(arcTangentOfPart(call, divide(call, x, plus(call, cosine, 1))), 2);
}
Value arcCosine(Call &call, Value x) { return minusFrom(call, pi / 2, arcSine(call, x)); }

/// The angle of (x, y), from the quotient of the smaller by the larger coordinate; 0 at the origin.
void angle(Call &call) {
  const llvm::SmallVector<std::int64_t> &shape = call.result().sizes;
  Value y = call.broadcast(wide(call, "self"), shape), x = call.broadcast(wide(call, "other"), shape);
  Value isFlat = call.compare(magnitude(call, y), ComparePredicate::le, magnitude(call, x)), one = number(call, 1, x);
  Value larger = call.select(isFlat, x, y), smaller = call.select(isFlat, y, x);
  Value safe = call.select(is(call, larger, ComparePredicate::eq, 0), one, larger);
  Value part = arcTangentOfPart(call, divide(call, smaller, safe));
  Value turned = call.select(is(call, x, ComparePredicate::lt, 0), add(call, part, signedLike(call, pi, y)), part);
  setNarrow(call, call.select(isFlat, turned, subtract(call, signedLike(call, pi / 2, y), part)));
}

//===----------------------------------------------------------------------===//
// Error function
//===----------------------------------------------------------------------===//

/// 1 - erf(x), and from 4 on the continued fraction exp(-x^2) / sqrt(pi) / (x + (1/2) / (x + (2/2) / (x + ...))).
Value complementaryError(Call &call, Value x) {
  Value isFar = is(call, x, ComparePredicate::ge, 4), far = call.select(isFar, x, number(call, 4, x));
  Value fraction = far;
  for (int k = 24; k > 0; --k)
    fraction = add(call, far, over(call, k / 2.0, fraction));
  Value tail =
      divide(call, call.scale(exponential(call, negate(call, square(call, far))), 1 / std::sqrt(pi)), fraction);
  return call.select(isFar, tail, minusFrom(call, 1, call.make<model::ErfOp>(x)));
}

/// Two steps of Halley's method from a number that is right to some thousandths; its derivative is that of the inverse.
Value inverseError(Call &call, Value x) {
  Value fixed = stopped(call, x), size = magnitude(call, fixed);
  constexpr double a = 0.147;
  Value log = logarithm(call, minusFrom(call, 1, square(call, fixed)));
  Value b = plus(call, call.scale(log, 0.5), 2 / (pi * a));
  Value first = subtract(call, root(call, subtract(call, square(call, b), call.scale(log, 1 / a))), b);
  Value begin = root(call, call.make<model::MaximumOp>({first, number(call, 0, first)}));
  Value y = call.select(is(call, fixed, ComparePredicate::lt, 0), negate(call, begin), begin);
  Value isEnd = is(call, size, ComparePredicate::eq, 1), end = y;
  y = call.select(isEnd, number(call, 0, y), y);
  const auto slopeAt = [&](Value y) { return call.scale(exponential(call, square(call, y)), std::sqrt(pi) / 2); };
  for (int i = 0; i < 2; ++i) {
    Value step = multiply(call, subtract(call, call.make<model::ErfOp>(y), fixed), slopeAt(y));
    y = subtract(call, y, divide(call, step, plus(call, multiply(call, y, step), 1)));
  }
  y = stopped(call, y);
  Value inside = add(call, y, multiply(call, stopped(call, slopeAt(y)), subtract(call, x, fixed)));
  return call.select(isEnd, stopped(call, end), inside);
}

//===----------------------------------------------------------------------===//
// Gamma function
//===----------------------------------------------------------------------===//

/// x where it is at least 1/2, else 1 - x; and x less the integer next to 0, where it is less than 1/2, else 1/2.
struct Reflected {
  Value isBelow, z, fraction;
  Reflected(Call &call, Value x) : isBelow(is(call, x, ComparePredicate::lt, 0.5)) {
    z = call.select(isBelow, minusFrom(call, 1, x), x);
    // From 2^53 on there are no fractions.
    Value fixed = stopped(call, x);
    Value safe = call.select(is(call, magnitude(call, fixed), ComparePredicate::lt, 0x1p53), fixed, number(call, 0, x));
    Value whole = call.cast(call.cast(safe, call.builder.getI64Type()), elementOf(x));
    fraction = call.select(isBelow, subtract(call, x, whole), number(call, 0.5, x));
  }
};
/// z + 8 and the number of terms that lead there, or z where it is at least 20.
struct Shifted {
  static constexpr int steps = 8;
  Value isFar, near, w;
  Shifted(Call &call, Value z) : isFar(is(call, z, ComparePredicate::ge, 20)) {
    near = call.select(isFar, number(call, 1, z), z);
    w = call.select(isFar, z, plus(call, near, steps));
  }
};

/// log|gamma(x)| by Stirling's series at z + 8.
Value logGamma(Call &call, Value x) {
  const Reflected at(call, x);
  const Shifted shifted(call, at.z);
  Value w = shifted.w, product = shifted.near;
  for (int k = 1; k < Shifted::steps; ++k)
    product = multiply(call, product, plus(call, shifted.near, k));
  const double series[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156};
  Value rest = divide(call, polynomial(call, over(call, 1, square(call, w)), series), w);
  Value stirling = add(call, subtract(call, multiply(call, plus(call, w, -0.5), logarithm(call, w)), w),
                       plus(call, rest, std::log(2 * pi) / 2));
  Value above = call.select(shifted.isFar, stirling, subtract(call, stirling, logarithm(call, product)));
  Value sine = magnitude(call, call.make<model::SinOp>(call.scale(at.fraction, pi)));
  return call.select(at.isBelow, minusFrom(call, std::log(pi), add(call, logarithm(call, sine), above)), above);
}
/// Its derivative.
Value digamma(Call &call, Value x) {
  const Reflected at(call, x);
  const Shifted shifted(call, at.z);
  Value w = shifted.w, sum = over(call, 1, shifted.near);
  for (int k = 1; k < Shifted::steps; ++k)
    sum = add(call, sum, over(call, 1, plus(call, shifted.near, k)));
  const double series[] = {-1.0 / 12, 1.0 / 120, -1.0 / 252, 1.0 / 240, -1.0 / 132, 691.0 / 32760, -1.0 / 12};
  Value inverse = over(call, 1, square(call, w));
  Value far = add(call, subtract(call, logarithm(call, w), over(call, 0.5, w)),
                  multiply(call, inverse, polynomial(call, inverse, series)));
  Value above = call.select(shifted.isFar, far, subtract(call, far, sum));
  Value turn = call.scale(at.fraction, pi);
  Value cotangent = divide(call, call.make<model::CosOp>(turn), call.make<model::SinOp>(turn));
  return call.select(at.isBelow, subtract(call, above, call.scale(cotangent, pi)), above);
}
/// The multivariate function: a product of gamma functions and a power of pi.
void logGammaOfMatrices(Call &call) {
  Value x = wide(call, "self");
  const std::int64_t p = call.integer("p");
  if (p < 1 || p > 64)
    return call.refuse("mvlgamma of a dimension that is not 1 to 64");
  Value sum = logGamma(call, x);
  for (std::int64_t j = 1; j < p; ++j)
    sum = add(call, sum, logGamma(call, plus(call, x, -static_cast<double>(j) / 2)));
  setNarrow(call, plus(call, sum, static_cast<double>(p * (p - 1)) / 4 * std::log(pi)));
}
void polygamma(Call &call) {
  if (call.integer("n") != 0)
    return call.refuse("polygamma of an order above 0");
  setNarrow(call, digamma(call, wide(call, "self")));
}

template <Value (*function)(Call &, Value)> void unary(Call &call) {
  setNarrow(call, function(call, wide(call, "self")));
}

constexpr AtenOp table[] = {
    {"acos.default", unary<arcCosine>},       {"asin.default", unary<arcSine>},
    {"atan.default", unary<arcTangent>},      {"atan2.default", angle},
    {"digamma.default", unary<digamma>},      {"erfc.default", unary<complementaryError>},
    {"erfinv.default", unary<inverseError>},  {"lgamma.default", unary<logGamma>},
    {"mvlgamma.default", logGammaOfMatrices}, {"polygamma.default", polygamma},
};

} // namespace sluice::exported::special

llvm::ArrayRef<AtenOp> exported::specialOps() { return special::table; }
