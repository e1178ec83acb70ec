//===- Pointwise.cpp - elementwise ops of StableHLO -----------------------------------------===//

#include "passes/import/stablehlo/Composites.h"
#include "passes/import/stablehlo/Masks.h"
#include "passes/import/stablehlo/OpaqueAttributes.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace sluice;
using namespace sluice::stablehlo;

namespace sluice::stablehlo::pointwise {

/// Refuses operands that have not the shape of the result, which only a damaged text has.
bool haveOneShape(OpCall &call, unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    if (call.graph.sizes(call.operand(i)) != llvm::ArrayRef(call.result().sizes))
      call.refuseShapes();
  return !call.isRefused();
}

bool isOfFloats(OpCall &call) {
  if (!exported::isFloat(call.graph.type(call.operand(0))))
    call.refuse("it is of integers", "convert them to float32 before");
  return !call.isRefused();
}

/// The name of an op of ATen as a template argument.
template <std::size_t size> struct Target {
  char text[size];
  consteval Target(const char (&given)[size]) : text() { std::copy_n(given, size, text); }
};

/// A function of floats of one operand.
template <Target target> void unary(OpCall &call) {
  if (haveOneShape(call, 1) && isOfFloats(call))
    call.set(call.graph.unary(target.text, call.operand(0)));
}

void negate(OpCall &call) {
  if (!haveOneShape(call, 1))
    return;
  const Node *inner = call.graph.maker(call.operand(0), "neg.default");
  call.set(inner ? Translation::operandOf(*inner, "self") : call.graph.unary("neg.default", call.operand(0)));
}

void complementaryErrorFunction(OpCall &call) {
  if (haveOneShape(call, 1) && isOfFloats(call))
    call.set(call.graph.binary("rsub.Scalar", call.graph.unary("erf.default", call.operand(0)), 1, call.result()));
}

/// sign(x) |x|^(1/3)
void cubeRoot(OpCall &call) {
  if (!haveOneShape(call, 1) || !isOfFloats(call))
    return;
  const std::string size = call.graph.unary("abs.default", call.operand(0));
  call.set(call.graph.binary(
      "mul.Tensor", call.graph.unary("sign.default", call.operand(0)),
      call.graph.emit("pow.Tensor_Scalar", {{"self", tensor(size)}, {"exponent", number(1.0 / 3)}}, call.result()),
      call.result()));
}

/// |x| < infinity
void isFinite(OpCall &call) {
  if (haveOneShape(call, 1) && isOfFloats(call))
    call.set(call.graph.binary("lt.Scalar", call.graph.unary("abs.default", call.operand(0)), INFINITY, call.result()));
}

void logicalNot(OpCall &call) {
  if (!haveOneShape(call, 1))
    return;
  if (call.result().type != ScalarType::boolean)
    return call.refuse("it is of the bits of integers");
  call.set(call.graph.unary("logical_not.default", call.operand(0)));
  if (const std::optional<double> value = call.graph.splat(call.operand(0)))
    call.graph.setSplat(call.results().front(), *value == 0);
}

using Fold = double (*)(double, double);
/// Sets the value of an op whose operands are known, as the counter of a loop and the divisor of a mean are. Floats of
/// 32 bits are rounded once, because f64 has more than twice their digits.
void fold(OpCall &call, Fold function) {
  const std::optional<double> a = call.graph.splat(call.operand(0)), b = call.graph.splat(call.operand(1));
  if (a && b)
    call.graph.setSplat(call.results().front(), exported::roundTo(function(*a, *b), call.result().type));
}

/// `tensorTarget` of two tensors; with a number where the second operand, or of a commutative op the first one, is a
/// number.
void commutative(OpCall &call, llvm::StringRef target, Fold function) {
  const std::string a = call.operand(0), b = call.operand(1);
  const std::optional<double> ofA = call.graph.splat(a), ofB = call.graph.splat(b);
  call.set(ofB   ? call.graph.binary(target, a, *ofB, call.result())
           : ofA ? call.graph.binary(target, b, *ofA, call.result())
                 : call.graph.binary(target, a, b, call.result()));
  fold(call, function);
}

void add(OpCall &call) {
  if (!haveOneShape(call, 2))
    return;
  if (call.result().type == ScalarType::boolean)
    return call.set(call.graph.binary("logical_or.default", call.operand(0), call.operand(1), call.result()));
  if (std::optional<std::string> composite = logSumExpOf(call.graph, call.operand(0), call.operand(1)))
    return call.set(*composite);
  if (std::optional<std::string> composite = layerNormOf(call.graph, call.operand(0), call.operand(1)))
    return call.set(*composite);
  commutative(call, "add.Tensor", [](double a, double b) { return a + b; });
}

void multiply(OpCall &call) {
  if (!haveOneShape(call, 2))
    return;
  if (call.result().type == ScalarType::boolean)
    return call.set(call.graph.binary("logical_and.default", call.operand(0), call.operand(1), call.result()));
  if (std::optional<std::string> composite = geluOf(call.graph, call.operand(0), call.operand(1)))
    return call.set(*composite);
  // A cube, as gelu has it.
  const std::string a = call.operand(0), b = call.operand(1);
  for (const auto &[square, x] : {std::pair(a, b), std::pair(b, a)})
    if (const Node *node = call.graph.maker(square, "mul.Tensor"); node && exported::isFloat(call.result().type))
      if (Translation::operandOf(*node, "self") == x && node->find("other")->kind == Argument::Kind::tensor &&
          Translation::operandOf(*node, "other") == x)
        return call.set(
            call.graph.emit("pow.Tensor_Scalar", {{"self", tensor(x)}, {"exponent", number(3)}}, call.result()));
  commutative(call, "mul.Tensor", [](double a, double b) { return a * b; });
}

void subtract(OpCall &call) {
  if (!haveOneShape(call, 2))
    return;
  const std::string a = call.operand(0), b = call.operand(1);
  if (std::optional<std::string> composite = logSoftmaxOf(call.graph, a, b))
    return call.set(*composite);
  const std::optional<double> ofA = call.graph.splat(a), ofB = call.graph.splat(b);
  call.set(ofB   ? call.graph.binary("sub.Tensor", a, *ofB, call.result())
           : ofA ? call.graph.binary("rsub.Scalar", b, *ofA, call.result())
                 : call.graph.binary("sub.Tensor", a, b, call.result()));
  fold(call, [](double a, double b) { return a - b; });
}

void divide(OpCall &call) {
  if (!haveOneShape(call, 2))
    return;
  const std::string a = call.operand(0), b = call.operand(1);
  const std::optional<double> ofA = call.graph.splat(a), ofB = call.graph.splat(b);
  if (!exported::isFloat(call.result().type)) {
    call.set(call.graph.emit("div.Tensor_mode",
                             {{"self", tensor(a)}, {"other", tensor(b)}, {"rounding_mode", text("trunc")}},
                             call.result()));
    return fold(call, [](double a, double b) { return b == 0 ? -1 : std::trunc(a / b); });
  }
  if (ofB)
    if (std::optional<std::string> mean = meanOf(call.graph, a, *ofB))
      return call.set(*mean);
  if (std::optional<std::string> composite = softmaxOf(call.graph, a, b))
    return call.set(*composite);
  if (ofA == 1)
    if (std::optional<std::string> composite = sigmoidOf(call.graph, b))
      return call.set(*composite);
  call.set(ofB                ? call.graph.binary("div.Tensor", a, *ofB, call.result())
           : ofA && *ofA == 1 ? call.graph.unary("reciprocal.default", b)
                              : call.graph.binary("div.Tensor", a, b, call.result()));
  fold(call, [](double a, double b) { return a / b; });
}

void maximum(OpCall &call) {
  if (!haveOneShape(call, 2))
    return;
  // The reductions of jax.nn have the initial value -infinity.
  const std::string a = call.operand(0), b = call.operand(1);
  for (const auto &[x, other] : {std::pair(a, b), std::pair(b, a)})
    if (call.graph.splat(other) == -INFINITY)
      return call.set(x);
  call.set(call.graph.binary("maximum.default", a, b, call.result()));
  fold(call, [](double a, double b) { return std::max(a, b); });
}

void minimum(OpCall &call) {
  if (!haveOneShape(call, 2))
    return;
  call.set(call.graph.binary("minimum.default", call.operand(0), call.operand(1), call.result()));
  fold(call, [](double a, double b) { return std::min(a, b); });
}

void power(OpCall &call) {
  if (!haveOneShape(call, 2) || !isOfFloats(call))
    return;
  const std::string a = call.operand(0), b = call.operand(1);
  const std::optional<double> exponent = call.graph.splat(b);
  call.set(call.graph.emit(exponent ? "pow.Tensor_Scalar" : "pow.Tensor_Tensor",
                           {{"self", tensor(a)}, {"exponent", exponent ? number(*exponent) : tensor(b)}},
                           call.result()));
}

void remainder(OpCall &call) {
  if (haveOneShape(call, 2))
    call.set(call.graph.binary("fmod.Tensor", call.operand(0), call.operand(1), call.result()));
}

template <bool isAnd> void logical(OpCall &call) {
  if (!haveOneShape(call, 2))
    return;
  if (call.result().type != ScalarType::boolean)
    return call.refuse("it is of the bits of integers");
  call.set(call.graph.binary(isAnd ? "logical_and.default" : "logical_or.default", call.operand(0), call.operand(1),
                             call.result()));
  fold(call, [](double a, double b) -> double { return isAnd ? a != 0 && b != 0 : a != 0 || b != 0; });
}

void exclusiveOr(OpCall &call) {
  if (!haveOneShape(call, 2))
    return;
  if (call.result().type != ScalarType::boolean)
    return call.refuse("it is of the bits of integers");
  call.set(call.graph.binary("ne.Tensor", call.operand(0), call.operand(1), call.result()));
}

void compare(OpCall &call) {
  if (!haveOneShape(call, 2))
    return;
  struct Direction {
    llvm::StringLiteral name, target;
    Fold fold;
  };
  static constexpr Direction directions[] = {
      {"EQ", "eq", [](double a, double b) -> double { return a == b; }},
      {"NE", "ne", [](double a, double b) -> double { return a != b; }},
      {"LT", "lt", [](double a, double b) -> double { return a < b; }},
      {"LE", "le", [](double a, double b) -> double { return a <= b; }},
      {"GT", "gt", [](double a, double b) -> double { return a > b; }},
      {"GE", "ge", [](double a, double b) -> double { return a >= b; }},
  };
  const std::string given = enumOf(call.attribute("comparison_direction"), "comparison_direction");
  for (const Direction &each : directions)
    if (each.name == given) {
      const std::string a = call.operand(0), b = call.operand(1);
      const std::optional<double> ofB = call.graph.splat(b);
      call.set(ofB && !call.graph.splat(a) ? call.graph.binary(each.target.str() + ".Scalar", a, *ofB, call.result())
                                           : call.graph.binary(each.target.str() + ".Tensor", a, b, call.result()));
      return fold(call, each.fold);
    }
  call.refuse("attribute 'comparison_direction' is unknown");
}

void select(OpCall &call) {
  const std::string mask = call.operand(0), a = call.operand(1), b = call.operand(2);
  const llvm::ArrayRef<std::int64_t> shape = call.result().sizes;
  const bool fits = call.graph.sizes(a) == shape && call.graph.sizes(b) == shape &&
                    (call.graph.sizes(mask) == shape || call.graph.rank(mask) == 0);
  if (!fits)
    return call.refuseShapes();
  if (const std::optional<double> known = call.graph.splat(mask))
    return call.set(*known != 0 ? a : b);
  if (isMask(call.graph, a) || isMask(call.graph, b))
    return call.refuse(maskUse.str(), maskRemedy.str());
  if (std::optional<std::string> numbers = chosenByMask(call.graph, mask, a, b))
    return call.set(*numbers);
  call.set(call.graph.emit("where.self", {{"condition", tensor(mask)}, {"self", tensor(a)}, {"other", tensor(b)}},
                           call.result()));
}

/// clamp(least, x, most); the gradient is zero at the bounds in JAX and in ATen.
void clamp(OpCall &call) {
  const std::optional<double> least = call.graph.splat(call.operand(0)), most = call.graph.splat(call.operand(2));
  const std::string x = call.operand(1);
  if (call.graph.sizes(x) != llvm::ArrayRef(call.result().sizes))
    return call.refuseShapes();
  if (!least || !most) {
    // The upper bound counts where it is below the lower one.
    std::string value = x;
    for (const auto &[bound, comparison] :
         {std::pair(call.operand(0), "le.Tensor"), std::pair(call.operand(2), "ge.Tensor")}) {
      if (call.graph.rank(bound) != 0 && call.graph.sizes(bound) != llvm::ArrayRef(call.result().sizes))
        return call.refuseShapes();
      const std::string repeated = call.graph.expand(bound, call.result().sizes);
      const std::string isBeyond =
          call.graph.binary(comparison, value, repeated, metaOf(ScalarType::boolean, call.result().sizes));
      value = call.graph.emit("where.self",
                              {{"condition", tensor(isBeyond)}, {"self", tensor(repeated)}, {"other", tensor(value)}},
                              call.result());
    }
    return call.set(value);
  }
  call.set(call.graph.emit("clamp.default",
                           {{"self", tensor(x)},
                            {"min", numberOf(*least, call.result().type)},
                            {"max", numberOf(*most, call.result().type)}},
                           call.result()));
}

void convert(OpCall &call) {
  if (!haveOneShape(call, 1))
    return;
  const std::string x = call.operand(0);
  const ScalarType type = call.result().type;
  if (!isMask(call.graph, x))
    return call.set(call.graph.cast(x, type));
  if (!exported::isFloat(type))
    return call.refuse(maskUse.str(), maskRemedy.str());
  call.set(numbersOfMask(call.graph, x, type));
}

constexpr TableEntry table[] = {
    {"abs", unary<"abs.default">},
    {"add", add},
    {"and", logical<true>},
    {"cbrt", cubeRoot},
    {"ceil", unary<"ceil.default">},
    {"chlo.acosh", unary<"acosh.default">},
    {"chlo.asinh", unary<"asinh.default">},
    {"chlo.atanh", unary<"atanh.default">},
    {"chlo.cosh", unary<"cosh.default">},
    {"chlo.erf", unary<"erf.default">},
    {"chlo.erfc", complementaryErrorFunction},
    {"chlo.sinh", unary<"sinh.default">},
    {"chlo.square", unary<"square.default">},
    {"chlo.tan", unary<"tan.default">},
    {"clamp", clamp},
    {"compare", compare},
    {"convert", convert},
    {"cosine", unary<"cos.default">},
    {"divide", divide},
    {"exponential", unary<"exp.default">},
    {"exponential_minus_one", unary<"expm1.default">},
    {"floor", unary<"floor.default">},
    {"is_finite", isFinite},
    {"log", unary<"log.default">},
    {"log_plus_one", unary<"log1p.default">},
    {"logistic", unary<"sigmoid.default">},
    {"maximum", maximum},
    {"minimum", minimum},
    {"multiply", multiply},
    {"negate", negate},
    {"not", logicalNot},
    {"or", logical<false>},
    {"power", power},
    {"remainder", remainder},
    {"round_nearest_even", unary<"round.default">},
    {"rsqrt", unary<"rsqrt.default">},
    {"select", select},
    {"sign", unary<"sign.default">},
    {"sine", unary<"sin.default">},
    {"sqrt", unary<"sqrt.default">},
    {"subtract", subtract},
    {"tan", unary<"tan.default">},
    {"tanh", unary<"tanh.default">},
    {"xor", exclusiveOr},
};

} // namespace sluice::stablehlo::pointwise

llvm::ArrayRef<TableEntry> stablehlo::pointwiseOps() { return pointwise::table; }
