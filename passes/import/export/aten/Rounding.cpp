//===- Rounding.cpp - ops of ATen that round, and remainders -------------------------------===//
//
// Roundings have the derivative 0. A cast to an integer rounds towards 0; it is exact for numbers that have a
// fraction.
//
//===----------------------------------------------------------------------===//

#include "passes/import/export/aten/Operands.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::rounding {

/// Floats from here on are integers in f64, and so in narrower types.
constexpr double firstWithoutFraction = 0x1p53;

Value constant(Call &call, double value, Value like) { return call.scalar(value, like); }

/// Towards 0; without a derivative.
Value truncated(Call &call, Value x) {
  if (!isFloatValue(x))
    return x;
  x = stopped(call, x);
  Value hasFraction = call.compare(magnitude(call, x), ComparePredicate::lt, constant(call, firstWithoutFraction, x));
  Value safe = call.select(hasFraction, x, constant(call, 0, x));
  return call.select(hasFraction, call.cast(call.cast(safe, call.builder.getI64Type()), elementOf(x)), x);
}
/// `one` where the comparison holds.
Value where(Call &call, Value a, ComparePredicate predicate, Value b, double one = 1) {
  Value holds = call.compare(a, predicate, b);
  Value like = call.broadcast(constant(call, one, a), Call::shapeOf(holds));
  return call.select(holds, like, constant(call, 0, a));
}
Value floored(Call &call, Value x) {
  Value whole = truncated(call, x);
  return isFloatValue(x) ? subtract(call, whole, where(call, whole, ComparePredicate::gt, stopped(call, x))) : whole;
}
Value ceiled(Call &call, Value x) {
  Value whole = truncated(call, x);
  return isFloatValue(x) ? add(call, whole, where(call, whole, ComparePredicate::lt, stopped(call, x))) : whole;
}
/// To the nearest integer, and between two of them to the even one.
Value rounded(Call &call, Value x) {
  if (!isFloatValue(x))
    return x;
  x = stopped(call, x);
  Value below = floored(call, x), rest = subtract(call, x, below);
  Value half = constant(call, 0.5, x), one = constant(call, 1, x);
  Value isOdd = call.compare(call.scale(truncated(call, call.scale(below, 0.5)), 2), ComparePredicate::ne, below);
  Value goesUp = logicalOr(call, call.compare(rest, ComparePredicate::gt, half),
                           logicalAnd(call, call.compare(rest, ComparePredicate::eq, half), isOdd));
  return call.select(goesUp, add(call, below, one), below);
}
template <Value (*function)(Call &, Value)> void unary(Call &call) {
  Value x = call.value("self");
  call.set(flat(call, function(call, x), x));
}

/// torch multiplies, rounds and divides.
void roundToDecimals(Call &call) {
  Value x = call.value("self");
  const double scale = std::pow(10.0, std::abs(static_cast<double>(call.integer("decimals"))));
  const bool isNegative = call.integer("decimals") < 0;
  Value factor = constant(call, scale, x);
  Value scaled = isNegative ? divide(call, stopped(call, x), factor) : multiply(call, stopped(call, x), factor);
  Value whole = rounded(call, scaled);
  call.set(flat(call, isNegative ? multiply(call, whole, factor) : divide(call, whole, factor), x));
}
void fraction(Call &call) {
  Value x = call.value("self");
  call.set(subtract(call, x, truncated(call, x)));
}

//===----------------------------------------------------------------------===//
// Quotients
//===----------------------------------------------------------------------===//

/// In f64 a quotient of two f32 is rounded to the correct integer if it is below 2^29, and its product is exact. With a
/// larger quotient the result is NaN.
enum class Towards { zero, minusInfinity };
Value quotientOf(Call &call, Value a, Value b, Towards towards) {
  Value ratio = divide(call, stopped(call, a), stopped(call, b));
  Value whole = towards == Towards::zero ? truncated(call, ratio) : floored(call, ratio);
  Value isExact = call.compare(magnitude(call, whole), ComparePredicate::lt, constant(call, 0x1p29, whole));
  return call.select(isExact, whole, constant(call, std::numeric_limits<double>::quiet_NaN(), whole));
}
void setResult(Call &call, Value result) {
  Type element = call.elementType(call.result().type);
  call.set(call.broadcast(call.cast(result, element), call.result().sizes));
}

template <Towards towards> void remainder(Call &call) {
  Value a = wide(call, "self"), b = wide(call, "other");
  setResult(call, subtract(call, a, multiply(call, b, quotientOf(call, a, b, towards))));
}

void divideBy(Call &call, Towards towards) {
  if (!isFloat(call.result().type) || towards == Towards::minusInfinity) {
    Value x = wide(call, "self"), y = wide(call, "other"), quotient = quotientOf(call, x, y, towards);
    return setResult(call, flat(call, quotient, multiply(call, quotient, add(call, x, y))));
  }
  // torch rounds the quotient to the element type first.
  Type element = call.elementType(call.result().type);
  Value a = call.cast(wide(call, "self"), element), b = call.cast(wide(call, "other"), element);
  Value quotient = divide(call, a, b);
  setResult(call, flat(call, truncated(call, quotient), quotient));
}
void divideByMode(Call &call) {
  const std::string mode = call.text("rounding_mode");
  if (mode.empty())
    return setResult(call, divide(call, call.cast(call.value("self"), call.elementType(call.result().type)),
                                  call.cast(wide(call, "other"), call.elementType(call.result().type))));
  divideBy(call, mode == "trunc" ? Towards::zero : Towards::minusInfinity);
}
void floorDivide(Call &call) { divideBy(call, Towards::minusInfinity); }

constexpr AtenOp table[] = {
    {"ceil.default", unary<ceiled>},
    {"div.Scalar_mode", divideByMode},
    {"div.Tensor_mode", divideByMode},
    {"fix.default", unary<truncated>},
    {"floor.default", unary<floored>},
    {"floor_divide.default", floorDivide},
    {"floor_divide.Scalar", floorDivide},
    {"fmod.Scalar", remainder<Towards::zero>},
    {"fmod.Tensor", remainder<Towards::zero>},
    {"frac.default", fraction},
    {"remainder.Scalar", remainder<Towards::minusInfinity>},
    {"remainder.Scalar_Tensor", remainder<Towards::minusInfinity>},
    {"remainder.Tensor", remainder<Towards::minusInfinity>},
    {"round.decimals", roundToDecimals},
    {"round.default", unary<rounded>},
    {"trunc.default", unary<truncated>},
};

} // namespace sluice::exported::rounding

llvm::ArrayRef<AtenOp> exported::roundingOps() { return rounding::table; }
