//===- Activation.cpp - activations -------------------------------------------------===//

#include "dialect/model/Patterns.h"
#include "dialect/model/SavedTensors.h"
#include "dialect/model/ops/Helpers.h"

#include "mlir/IR/PatternMatch.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

FailureOrValues GeluOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{GeluGradOp::create(builder, cotangents[0], getX(), getApproximateAttr())};
}

FailureOrValues SiluOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{SiluGradOp::create(builder, cotangents[0], getX())};
}

FailureOrValues SwigluOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  auto grad = SwigluGradOp::create(builder, cotangents[0], getGate(), getUp());
  return SmallVector<Value>(grad->getResults());
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

// erf: x (1 + erf(x / sqrt 2)) / 2; tanh: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
FailureOrValues GeluOp::decompose(ImplicitLocOpBuilder &builder) {
  Type element = statisticsElement(elementOf(getX()));
  Value x = makeCast(builder, getX(), element);
  Value inner;
  if (getApproximate() == GeluApproximation::tanh) {
    Value square = MultiplyOp::create(builder, x, x);
    Value cube = MultiplyOp::create(builder, square, x);
    Value sum = AddOp::create(builder, x, makeScale(builder, cube, 0.044715));
    Value scaled = makeScale(builder, sum, std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
    inner = TanhOp::create(builder, scaled);
  } else {
    inner = ErfOp::create(builder, makeScale(builder, x, 1 / std::numbers::sqrt2));
  }
  Value one = makeConstant(builder, 1, tensorOf({}, element));
  Value weight = AddOp::create(builder, inner, one);
  Value half = makeScale(builder, x, 0.5);
  Value y = MultiplyOp::create(builder, half, weight);
  return SmallVector<Value>{makeCast(builder, y, elementOf(getX()))};
}

// x / (1 + exp(-x)), in the type of statistics
static Value makeSilu(ImplicitLocOpBuilder &builder, Value operand) {
  Type element = statisticsElement(elementOf(operand));
  Value x = makeCast(builder, operand, element);
  Value one = makeConstant(builder, 1, tensorOf({}, element));
  Value power = ExpOp::create(builder, NegateOp::create(builder, x).getResult());
  Value sum = AddOp::create(builder, power, one);
  return DivideOp::create(builder, x, sum);
}

FailureOrValues SiluOp::decompose(ImplicitLocOpBuilder &builder) {
  return SmallVector<Value>{makeCast(builder, makeSilu(builder, getX()), elementOf(getX()))};
}

FailureOrValues SwigluOp::decompose(ImplicitLocOpBuilder &builder) {
  Value gate = makeSilu(builder, getGate());
  Value up = makeCast(builder, getUp(), elementOf(gate));
  Value product = MultiplyOp::create(builder, gate, up);
  return SmallVector<Value>{makeCast(builder, product, elementOf(getGate()))};
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

namespace {
/// multiply(silu(gate), up) ==> swiglu(gate, up)
struct FuseGate : OpRewritePattern<MultiplyOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MultiplyOp product, PatternRewriter &rewriter) const override {
    for (unsigned side = 0; side < 2; ++side) {
      auto silu = product.getOperand(side).getDefiningOp<SiluOp>();
      Value up = product.getOperand(1 - side);
      if (!silu || !silu->hasOneUse() || !sharesScope(silu, product) || !typeAgrees(silu.getType(), up.getType()))
        continue;
      auto fused = SwigluOp::create(rewriter, rewriter.getFusedLoc({silu.getLoc(), product.getLoc()}), silu.getX(), up);
      setFusedAttributes(fused, {silu, product});
      rewriter.replaceOp(product, fused);
      rewriter.eraseOp(silu);
      return success();
    }
    return failure();
  }
};
} // namespace

void populateGateFusionPatterns(RewritePatternSet &patterns) { patterns.add<FuseGate>(patterns.getContext()); }

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

namespace {
/// The factor of x in `factor x`; nullopt for another value.
std::optional<double> factorOf(Value value, Value x) {
  auto scale = value.getDefiningOp<ScaleOp>();
  return scale && scale.getOperand() == x ? std::optional(scale.getFactor().convertToDouble()) : std::nullopt;
}
bool isNear(double value, double expected) { return std::abs(value - expected) <= 1e-6 * std::abs(expected); }
/// The other operand of `1 + value`; null for another value.
Value besideOne(Value value) {
  auto sum = value.getDefiningOp<AddOp>();
  for (unsigned side = 0; sum && side < 2; ++side)
    if (auto one = sum->getOperand(side).getDefiningOp<ConstantOp>(); one && one.getValue().convertToDouble() == 1)
      return sum->getOperand(1 - side);
  return {};
}

/// 0.5 x (1 + erf(x / sqrt 2)) ==> gelu, 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) ==> gelu by tanh
struct RecognizeGelu : OpRewritePattern<MultiplyOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MultiplyOp product, PatternRewriter &rewriter) const override {
    for (unsigned side = 0; side < 2; ++side) {
      // (0.5 x) (1 + f), or 0.5 (x (1 + f)) with the half outside.
      auto half = product.getOperand(side).getDefiningOp<ScaleOp>();
      Value function = besideOne(product.getOperand(1 - side));
      if (!half || !isNear(half.getFactor().convertToDouble(), 0.5) || !function)
        continue;
      Value x = half.getOperand();
      std::optional<GeluApproximation> form;
      if (auto erf = function.getDefiningOp<ErfOp>())
        if (std::optional<double> factor = factorOf(erf.getOperand(), x); factor && isNear(*factor, std::sqrt(0.5)))
          form = GeluApproximation::none;
      if (auto tanh = function.getDefiningOp<TanhOp>())
        if (auto inner = tanh.getOperand().getDefiningOp<ScaleOp>();
            inner && isNear(inner.getFactor().convertToDouble(), std::sqrt(2 / std::numbers::pi)))
          if (isCubicSum(inner.getOperand(), x))
            form = GeluApproximation::tanh;
      if (!form)
        continue;
      rewriter.replaceOpWithNewOp<GeluOp>(product, x, *form);
      return success();
    }
    return failure();
  }

  /// x + 0.044715 x^3
  static bool isCubicSum(Value value, Value x) {
    auto sum = value.getDefiningOp<AddOp>();
    for (unsigned side = 0; sum && side < 2; ++side) {
      auto scale = sum->getOperand(1 - side).getDefiningOp<ScaleOp>();
      auto power = scale ? scale.getOperand().getDefiningOp<PowerOp>() : PowerOp();
      if (sum->getOperand(side) == x && power && power.getOperand() == x &&
          power.getExponent().convertToDouble() == 3 && isNear(scale.getFactor().convertToDouble(), 0.044715))
        return true;
    }
    return false;
  }
};

/// x sigmoid(x) ==> silu(x)
struct RecognizeSilu : OpRewritePattern<MultiplyOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MultiplyOp product, PatternRewriter &rewriter) const override {
    for (unsigned side = 0; side < 2; ++side)
      if (auto gate = product.getOperand(side).getDefiningOp<SigmoidOp>();
          gate && gate.getOperand() == product.getOperand(1 - side)) {
        rewriter.replaceOpWithNewOp<SiluOp>(product, gate.getOperand());
        return success();
      }
    return failure();
  }
};
} // namespace

void populateActivationRecognitionPatterns(RewritePatternSet &patterns) {
  patterns.add<RecognizeGelu, RecognizeSilu, FuseGate>(patterns.getContext());
}

} // namespace sluice::model
