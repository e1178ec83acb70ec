//===- Functions.cpp - functions of ATen that are computed in f64 --------------------------===//
//
// The differences and quotients here lose digits, but in f64 fewer than f32 has not. Near 0, where also f64 would lose
// them, a series is used.
//
//===----------------------------------------------------------------------===//

#include "passes/import/export/aten/Operands.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

void exported::setNarrow(Call &call, Value value) {
  if (!isFloat(call.result().type) || call.result().type == ScalarType::f64)
    return call.refuse("a function that is not of float32 or a narrower type", "cast its operand to float32");
  call.set(call.broadcast(call.cast(value, call.elementType(call.result().type)), call.result().sizes));
}

namespace sluice::exported::functions {

Value constant(Call &call, double value, Value like) { return call.scalar(value, like); }
Value plus(Call &call, Value x, double value) { return add(call, x, constant(call, value, x)); }
Value exponential(Call &call, Value x) { return call.make<model::ExpOp>(x); }
Value logarithm(Call &call, Value x) { return call.make<model::LogOp>(x); }
Value root(Call &call, Value x) { return call.make<model::SqrtOp>(x); }

/// x (c0 + c1 x + c2 x^2 + ...) where |x| is below `limit`, else `function`(x), each of a number of its range.
Value nearZero(Call &call, Value x, double limit, llvm::ArrayRef<double> coefficients,
               llvm::function_ref<Value(Value)> function) {
  Value isNear = call.compare(magnitude(call, x), ComparePredicate::lt, constant(call, limit, x));
  Value small = call.select(isNear, x, constant(call, 0, x));
  Value sum = call.broadcast(constant(call, coefficients.back(), x), Call::shapeOf(x));
  for (const double each : llvm::reverse(coefficients.drop_back()))
    sum = plus(call, multiply(call, sum, small), each);
  return call.select(isNear, multiply(call, sum, small), function(x));
}
Value logOnePlus(Call &call, Value x) {
  return nearZero(call, x, 1e-4, {1, -1.0 / 2, 1.0 / 3, -1.0 / 4},
                  [&](Value y) { return logarithm(call, plus(call, y, 1)); });
}
Value exponentialMinusOne(Call &call, Value x) {
  return nearZero(call, x, 1e-3, {1, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120},
                  [&](Value y) { return plus(call, exponential(call, y), -1); });
}
Value hyperbolicSine(Call &call, Value x) {
  return nearZero(call, x, 1e-3, {1, 0, 1.0 / 6, 0, 1.0 / 120}, [&](Value y) {
    return call.scale(subtract(call, exponential(call, y), exponential(call, negate(call, y))), 0.5);
  });
}
Value hyperbolicCosine(Call &call, Value x) {
  return call.scale(add(call, exponential(call, x), exponential(call, negate(call, x))), 0.5);
}
Value tangent(Call &call, Value x) { return divide(call, call.make<model::SinOp>(x), call.make<model::CosOp>(x)); }
/// log(|x| + sqrt(x^2 + 1)) with the sign of x.
Value inverseHyperbolicSine(Call &call, Value x) {
  return nearZero(call, x, 1e-3, {1, 0, -1.0 / 6, 0, 3.0 / 40}, [&](Value y) {
    Value size = magnitude(call, y);
    Value result = logarithm(call, add(call, size, root(call, plus(call, multiply(call, size, size), 1))));
    return call.select(call.compare(y, ComparePredicate::lt, constant(call, 0, y)), negate(call, result), result);
  });
}
Value inverseHyperbolicCosine(Call &call, Value x) {
  return logarithm(call, add(call, x, root(call, plus(call, multiply(call, x, x), -1))));
}
Value inverseHyperbolicTangent(Call &call, Value x) {
  return call.scale(subtract(call, logOnePlus(call, x), logOnePlus(call, negate(call, x))), 0.5);
}
Value logarithmOf2(Call &call, Value x) { return call.scale(logarithm(call, x), 1 / std::numbers::ln2); }
Value logarithmOf10(Call &call, Value x) { return call.scale(logarithm(call, x), 1 / std::numbers::ln10); }
Value powerOf2(Call &call, Value x) { return exponential(call, call.scale(x, std::numbers::ln2)); }
/// sin(pi x) / (pi x), and 1 at 0.
Value sinc(Call &call, Value x) {
  Value isZero = call.compare(x, ComparePredicate::eq, constant(call, 0, x)), one = constant(call, 1, x);
  Value angle = call.scale(call.select(isZero, one, x), std::numbers::pi);
  return call.select(isZero, one, divide(call, call.make<model::SinOp>(angle), angle));
}
template <Value (*function)(Call &, Value)> void unary(Call &call) {
  setNarrow(call, function(call, wide(call, "self")));
}

/// torch's derivative at two zeros is 0.
void hypotenuse(Call &call) {
  Value a = wide(call, "self"), b = wide(call, "other");
  Value square = add(call, multiply(call, a, a), multiply(call, b, b));
  Value isZero = call.compare(square, ComparePredicate::eq, constant(call, 0, square));
  Value safe = root(call, call.select(isZero, constant(call, 1, square), square));
  setNarrow(call, call.select(isZero, constant(call, 0, square), safe));
}
/// The larger one plus log(1 + exp(-distance)); equal infinities have no distance.
void logAddExponentials(Call &call, double factor) {
  Value a = call.scale(wide(call, "self"), factor), b = call.scale(wide(call, "other"), factor);
  const llvm::SmallVector<std::int64_t> &shape = call.result().sizes;
  llvm::SmallVector<std::int64_t> pair(shape);
  pair.push_back(1);
  Value both = call.join({call.reshape(call.broadcast(a, shape), pair), call.reshape(call.broadcast(b, shape), pair)},
                         static_cast<std::int64_t>(shape.size()));
  setNarrow(call, call.scale(call.make<model::LogSumExpOp>(both), 1 / factor));
}
void logAddExp(Call &call) { logAddExponentials(call, 1); }
void logAddExp2(Call &call) { logAddExponentials(call, std::numbers::ln2); }

/// x log(y); 0 where x is 0, also with a y of at most 0, but NaN with a y of NaN.
void productWithLogarithm(Call &call) {
  Value x = wide(call, "self"), y = wide(call, "other");
  Value xIsZero = call.compare(x, ComparePredicate::eq, constant(call, 0, x));
  Value isOutside = logicalAnd(call, xIsZero, call.compare(y, ComparePredicate::le, constant(call, 0, y)));
  Value safe = call.select(isOutside, constant(call, 1, y), y);
  Value zero = constant(call, 0, x);
  setNarrow(call, call.select(isOutside, zero, multiply(call, x, logarithm(call, safe))));
}

/// |x|^y = exp(y log |x|), negative for a negative x and an odd y, and NaN for a negative x and a y with a fraction.
/// At 0 torch has the derivative 0 for y = 0 and for y > 1, and 1 for y = 1.
void power(Call &call) {
  Value x = wide(call, "self"), y = wide(call, "exponent");
  if (!call.isTensor("self") && call.number("self") > 0)
    return setNarrow(call, exponential(call, call.scale(y, std::log(call.number("self")))));
  const auto is = [&](Value value, ComparePredicate predicate, double other) {
    return call.compare(value, predicate, constant(call, other, value));
  };
  const auto integer = [&](Value value) {
    Type i64 = call.builder.getI64Type(), f64 = call.builder.getF64Type();
    // From 2^53 on all are even integers.
    Value isSmall = is(magnitude(call, value), ComparePredicate::lt, 0x1p53);
    Value safe = call.select(isSmall, stopped(call, value), constant(call, 0, value));
    return call.select(isSmall, call.cast(call.cast(safe, i64), f64), stopped(call, value));
  };
  Value isZero = is(x, ComparePredicate::eq, 0), isOne = is(y, ComparePredicate::eq, 1);
  Value isNull = is(y, ComparePredicate::eq, 0);
  Value isFlat = logicalAnd(call, isZero, logicalOr(call, isNull, is(y, ComparePredicate::ge, 1)));
  Value size = call.select(isFlat, constant(call, 1, x), magnitude(call, x));
  Value positive = exponential(call, multiply(call, y, logarithm(call, size)));
  Value half = call.scale(y, 0.5);
  Value isFraction = call.compare(integer(y), ComparePredicate::ne, y);
  Value isOdd = call.compare(integer(half), ComparePredicate::ne, half);
  Value isNegative = is(x, ComparePredicate::lt, 0);
  Value signedPower = call.select(logicalAnd(call, isNegative, isOdd), negate(call, positive), positive);
  Value defined = call.select(logicalAnd(call, isNegative, isFraction), constant(call, std::nan(""), x), signedPower);
  Value atZero = call.select(isNull, constant(call, 1, x), call.select(isOne, x, constant(call, 0, x)));
  setNarrow(call, call.select(isFlat, atZero, defined));
}

/// x 2^y.
void scaleByPower(Call &call) {
  setNarrow(call, multiply(call, wide(call, "self"), powerOf2(call, wide(call, "other"))));
}

/// log(x / (1 - x)) of x within [eps, 1 - eps]; outside the derivative is 0.
void logit(Call &call) {
  Value x = wide(call, "self");
  if (const std::optional<double> least = call.optionalNumber("eps"); least && *least >= 0) {
    Value low = constant(call, *least, x), high = constant(call, 1 - *least, x);
    Value isLow = call.compare(x, ComparePredicate::lt, low), isHigh = call.compare(x, ComparePredicate::gt, high);
    x = call.select(isLow, low, call.select(isHigh, high, x));
  }
  setNarrow(call, logarithm(call, divide(call, x, subtract(call, constant(call, 1, x), x))));
}

constexpr AtenOp table[] = {
    {"acosh.default", unary<inverseHyperbolicCosine>},
    {"asinh.default", unary<inverseHyperbolicSine>},
    {"atanh.default", unary<inverseHyperbolicTangent>},
    {"cosh.default", unary<hyperbolicCosine>},
    {"exp2.default", unary<powerOf2>},
    {"expm1.default", unary<exponentialMinusOne>},
    {"hypot.default", hypotenuse},
    {"ldexp.Tensor", scaleByPower},
    {"log10.default", unary<logarithmOf10>},
    {"log1p.default", unary<logOnePlus>},
    {"log2.default", unary<logarithmOf2>},
    {"logaddexp.default", logAddExp},
    {"logaddexp2.default", logAddExp2},
    {"logit.default", logit},
    {"pow.Scalar", power},
    {"pow.Tensor_Tensor", power},
    {"sinc.default", unary<sinc>},
    {"sinh.default", unary<hyperbolicSine>},
    {"tan.default", unary<tangent>},
    {"xlogy.Scalar_Other", productWithLogarithm},
    {"xlogy.Scalar_Self", productWithLogarithm},
    {"xlogy.Tensor", productWithLogarithm},
};

} // namespace sluice::exported::functions

llvm::ArrayRef<AtenOp> exported::functionOps() { return functions::table; }
