//===- Margin.cpp - losses of ATen by margins and distributions ----------------------------===//

#include "passes/import/export/aten/Operands.h"

#include <numbers>

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::margin {

Value oneMinus(Call &call, Value x) { return subtract(call, call.broadcast(call.scalar(1, x), Call::shapeOf(x)), x); }
Value logarithm(Call &call, Value x) { return call.make<model::LogOp>(x); }
/// y log(y), and 0 at 0 with the derivative 0.
Value entropy(Call &call, Value y) {
  Value isZero = call.compare(y, ComparePredicate::eq, call.scalar(0, y));
  return multiply(call, y, logarithm(call, call.select(isZero, call.scalar(1, y), y)));
}

void divergence(Call &call) {
  Value x = call.value("self"), y = call.value("target");
  Value each = call.flag("log_target") ? multiply(call, call.make<model::ExpOp>(y), subtract(call, y, x))
                                       : subtract(call, entropy(call, y), multiply(call, y, x));
  call.set(reducedLoss(call, each));
}

/// torch's logarithms are at least -100, and its derivative divides by at least 1e-12 instead.
void binaryCrossEntropy(Call &call) {
  Value x = call.value("self"), y = call.value("target"), fixed = stopped(call, x);
  const auto clamped = [&](Value value) {
    Value least = call.scalar(-100, value), result = logarithm(call, value);
    return call.select(call.compare(result, ComparePredicate::lt, least), least, result);
  };
  Value likelihood =
      add(call, multiply(call, y, clamped(fixed)), multiply(call, oneMinus(call, y), clamped(oneMinus(call, fixed))));
  Value spread = multiply(call, fixed, oneMinus(call, fixed));
  spread = call.make<model::MaximumOp>({spread, call.scalar(1e-12, spread)});
  Value slope = divide(call, subtract(call, fixed, stopped(call, y)), spread);
  Value each = subtract(call, multiply(call, slope, subtract(call, x, fixed)), likelihood);
  if (Value weight = call.optionalValue("weight"))
    each = multiply(call, each, weight);
  call.set(reducedLoss(call, each));
}

void poisson(Call &call) {
  Value x = call.value("input"), y = call.value("target");
  Value each;
  if (call.flag("log_input"))
    each = subtract(call, call.make<model::ExpOp>(x), multiply(call, y, x));
  else
    each = subtract(call, x, multiply(call, y, logarithm(call, add(call, x, call.scalar(call.number("eps"), x)))));
  if (call.flag("full")) {
    // Stirling's formula above 1.
    Value isLarge = call.compare(y, ComparePredicate::gt, call.scalar(1, y)), one = call.scalar(1, y);
    Value safe = call.select(isLarge, y, one), log = logarithm(call, safe);
    Value half = call.scale(add(call, log, call.scalar(std::log(2 * std::numbers::pi), log)), 0.5);
    Value formula = add(call, subtract(call, multiply(call, safe, log), safe), half);
    each = add(call, each, call.select(isLarge, formula, call.scalar(0, formula)));
  }
  call.set(reducedLoss(call, each));
}

/// x for a target of 1, and margin - x, at least 0, for -1; other targets add both.
void hingeEmbedding(Call &call) {
  Value x = call.value("self"), target = call.value("target"), zero = call.scalar(0, x);
  const auto isNot = [&](double sign) { return call.compare(target, ComparePredicate::ne, call.scalar(sign, target)); };
  Value margin = call.broadcast(call.scalar(call.number("margin"), x), Call::shapeOf(x));
  Value below = call.make<model::ReluOp>(subtract(call, margin, x));
  call.set(reducedLoss(call, add(call, call.select(isNot(1), below, zero), call.select(isNot(-1), x, zero))));
}

void marginRanking(Call &call) {
  Value difference = subtract(call, call.value("input1"), call.value("input2"));
  Value product = multiply(call, call.cast(call.value("target"), elementOf(difference)), difference);
  Value margin = call.broadcast(call.scalar(call.number("margin"), product), Call::shapeOf(product));
  call.set(reducedLoss(call, call.make<model::ReluOp>(subtract(call, margin, product))));
}

/// log(1 + exp(-y x)), which does not overflow.
void softMargin(Call &call) {
  Value x = call.value("self");
  Value product = multiply(call, call.cast(call.value("target"), elementOf(x)), x);
  call.set(reducedLoss(call, call.make<model::SoftplusOp>(negate(call, product))));
}

/// The mean over the classes of (margin - x[target] + x[class])^p, of the positive ones and without the target itself.
void multiMargin(Call &call) {
  Value x = call.value("self"), target = call.value("target");
  const double order = call.number("p");
  const std::int64_t classes = Call::rankOf(x) == 0 ? 1 : Call::shapeOf(x).back(),
                     rows = countOf(x) / std::max<std::int64_t>(classes, 1);
  if (order != 1 && order != 2)
    return call.refuse("multi_margin_loss of an order other than 1 and 2");
  const bool hasRows = Call::rankOf(x) == 2;
  x = call.reshape(x, {rows, classes});
  target = call.reshape(target, {rows, 1});
  auto dim = call.builder.getI64IntegerAttr(1);
  Value ofTarget = call.make<model::TakeAlongOp>({x, target}, {{"dim", dim}});
  Value excess =
      call.make<model::ReluOp>(subtract(call, add(call, x, call.scalar(call.number("margin"), x)), ofTarget));
  if (order == 2)
    excess = multiply(call, excess, excess);
  Value isTarget = call.compare(iota(call, {rows, classes}, 1, elementOf(target)), ComparePredicate::eq, target);
  Value each = call.select(isTarget, call.scalar(0, x), excess);
  if (Value weight = call.optionalValue("weight"))
    each = multiply(call, each, call.reshape(call.make<model::GatherOp>({weight, target}), {rows, 1}));
  Value mean = reduce<model::ReduceMeanOp>(call, each, {1});
  call.set(reducedLoss(call, hasRows ? mean : call.reshape(mean, {})));
}

constexpr AtenOp table[] = {
    {"binary_cross_entropy.default", binaryCrossEntropy},
    {"hinge_embedding_loss.default", hingeEmbedding},
    {"kl_div.default", divergence},
    {"margin_ranking_loss.default", marginRanking},
    {"multi_margin_loss.default", multiMargin},
    {"poisson_nll_loss.default", poisson},
    {"soft_margin_loss.default", softMargin},
};

} // namespace sluice::exported::margin

llvm::ArrayRef<AtenOp> exported::marginOps() { return margin::table; }
