//===- Activation.cpp - activation functions of ATen ---------------------------------------===//

#include "passes/import/export/aten/Operands.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::activation {

void gelu(Call &call) {
  const std::string approximation = call.text("approximate");
  call.set(call.make<model::GeluOp>(
      operand(call, "self"),
      {{"approximate", call.builder.getAttr<model::GeluApproximationAttr>(
                           approximation == "tanh" ? GeluApproximation::tanh : GeluApproximation::none)}}));
}

/// log(1 + exp(beta x)) / beta, and x where beta x is above the threshold.
void softplus(Call &call) {
  const double beta = call.number("beta"), threshold = call.number("threshold");
  Value x = operand(call, "self"), scaled = call.scale(x, beta);
  if (beta <= 0)
    return call.refuse("softplus with a beta of 0 or less");
  Value y = call.scale(call.make<model::SoftplusOp>(scaled), 1 / beta);
  // From 20 on the two are equal in f32.
  call.set(threshold >= 20
               ? y
               : call.select(call.compare(scaled, ComparePredicate::gt, call.scalar(threshold, scaled)), x, y));
}

/// x above 0, else `negative`.
void selectPositive(Call &call, Value x, Value negative) {
  call.set(call.select(call.compare(x, ComparePredicate::gt, call.scalar(0, x)), x, negative));
}

void leakyRelu(Call &call) {
  Value x = operand(call, "self");
  selectPositive(call, x, call.scale(x, call.number("negative_slope")));
}

/// scale x above 0, else scale alpha (exp(inputScale x) - 1).
void exponentialBelow(Call &call, double alpha, double scale, double inputScale) {
  Value x = operand(call, "self");
  // Of the positive elements the exponential may be infinite, and infinity times a gradient of 0 is NaN: it is that of
  // at most 0.
  Value least = call.scale(call.make<model::ReluOp>(call.scale(x, -1)), -inputScale);
  Value power = call.make<model::SubtractOp>({call.make<model::ExpOp>(least), call.scalar(1, x)});
  Value isAbove = call.compare(x, ComparePredicate::gt, call.scalar(0, x));
  call.set(call.select(isAbove, call.scale(x, scale), call.scale(power, alpha * scale)));
}
void elu(Call &call) { exponentialBelow(call, call.number("alpha"), call.number("scale"), call.number("input_scale")); }
void celu(Call &call) { exponentialBelow(call, call.number("alpha"), 1, 1 / call.number("alpha")); }
void selu(Call &call) {
  exponentialBelow(call, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1);
}

/// In evaluation the slope is the mean of its bounds.
void randomizedRelu(Call &call) {
  if (call.flag("training"))
    return call.refuse("rrelu in training", "use leaky_relu");
  Value x = operand(call, "self");
  selectPositive(call, x, call.scale(x, (call.number("lower") + call.number("upper")) / 2));
}
void threshold(Call &call) {
  Value x = operand(call, "self");
  Value isBelow = call.compare(x, ComparePredicate::le, call.scalar(call.number("threshold"), x));
  call.set(call.select(isBelow, call.scalar(call.number("value"), x), x));
}
/// 1 within [-lambda, lambda].
Value isSmall(Call &call, Value x, double lambda) {
  return logicalAnd(call, call.compare(x, ComparePredicate::ge, call.scalar(-lambda, x)),
                    call.compare(x, ComparePredicate::le, call.scalar(lambda, x)));
}
void hardshrink(Call &call) {
  Value x = operand(call, "self");
  call.set(call.select(isSmall(call, x, call.number("lambd")), call.scalar(0, x), x));
}
void softshrink(Call &call) {
  Value x = operand(call, "self"), zero = call.scalar(0, x);
  const double lambda = call.number("lambd");
  Value isPositive = call.compare(x, ComparePredicate::gt, zero);
  Value smaller =
      call.select(isPositive, subtract(call, x, call.scalar(lambda, x)), add(call, x, call.scalar(lambda, x)));
  call.set(call.select(isSmall(call, x, lambda), zero, smaller));
}
template <typename Op> void unary(Call &call) { call.set(call.make<Op>(operand(call, "self"))); }

/// relu(x + 3) - relu(x - 3) is 6 times the gate of hardsigmoid; both have the derivative 0 outside of it.
Value hardGate(Call &call, Value x) {
  Value low = call.make<model::ReluOp>(call.make<model::AddOp>({x, call.scalar(3, x)}));
  Value high = call.make<model::ReluOp>(call.make<model::SubtractOp>({x, call.scalar(3, x)}));
  return call.scale(call.make<model::SubtractOp>({low, high}), 1.0 / 6);
}

/// x tanh(softplus(x)).
void mish(Call &call) {
  Value x = operand(call, "self");
  call.set(call.make<model::MultiplyOp>({x, call.make<model::TanhOp>(call.make<model::SoftplusOp>(x))}));
}

/// -softplus(-x), which does not overflow.
void logSigmoid(Call &call) {
  Value negative = call.make<model::NegateOp>(operand(call, "self"));
  call.set(call.make<model::NegateOp>(call.make<model::SoftplusOp>(negative)));
}

/// The slope below 0 is one number, or one for each index of dim 1.
void prelu(Call &call) {
  Value x = operand(call, "self"), slope = call.value("weight");
  llvm::SmallVector<std::int64_t> shape(static_cast<std::size_t>(Call::rankOf(x)), 1);
  const std::int64_t count = Call::rankOf(slope) == 0 ? 1 : Call::shapeOf(slope)[0];
  if (shape.size() > 1 && count > 1)
    shape[1] = count;
  if (Call::rankOf(slope) > 1 || (count > 1 && shape.size() < 2))
    return call.refuse("prelu with a weight that is neither one number nor one for each channel");
  Value below = call.make<model::MultiplyOp>({x, call.reshape(slope, shape)});
  call.set(call.select(call.compare(x, ComparePredicate::gt, call.scalar(0, x)), x, below));
}

void hardswish(Call &call) {
  Value x = operand(call, "self");
  call.set(call.make<model::MultiplyOp>({x, hardGate(call, x)}));
}

void hardsigmoid(Call &call) { call.set(hardGate(call, operand(call, "self"))); }

constexpr AtenOp table[] = {
    {"celu.default", celu},
    {"elu.default", elu},
    {"gelu.default", gelu},
    {"hardshrink.default", hardshrink},
    {"hardsigmoid.default", hardsigmoid},
    {"hardswish.default", hardswish},
    {"leaky_relu.default", leakyRelu},
    {"log_sigmoid.default", logSigmoid},
    {"mish.default", mish},
    {"prelu.default", prelu},
    {"relu.default", unary<model::ReluOp>},
    {"rrelu.default", randomizedRelu},
    {"selu.default", selu},
    {"sigmoid.default", unary<model::SigmoidOp>},
    {"silu.default", unary<model::SiluOp>},
    {"softplus.default", softplus},
    {"softshrink.default", softshrink},
    {"tanh.default", unary<model::TanhOp>},
    {"threshold.default", threshold},
};

} // namespace sluice::exported::activation

llvm::ArrayRef<AtenOp> exported::activationOps() { return activation::table; }
