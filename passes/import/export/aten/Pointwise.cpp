//===- Pointwise.cpp - elementwise ops of ATen --------------------------------------------===//

#include "passes/import/export/Call.h"

#include <cmath>

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::pointwise {

bool isFloatValue(Value value) { return isa<FloatType>(cast<RankedTensorType>(value.getType()).getElementType()); }

/// The operand in the type of the result.
Value operand(Call &call, llvm::StringRef name) {
  return call.cast(call.value(name), call.elementType(call.result().type));
}

/// A tensor or number that is combined with `like`.
Value other(Call &call, llvm::StringRef name, Value like) {
  Type element = cast<RankedTensorType>(like.getType()).getElementType();
  if (call.isTensor(name))
    return call.cast(call.value(name), element);
  // torch wraps such a number around.
  const double given = call.number(name);
  const bool isOutside = element.isUnsignedInteger(8) ? given < 0 || given > 255
                         : element.isInteger(32)      ? given < -2147483648.0 || given > 2147483647.0
                                                      : false;
  if (isOutside)
    call.refuse("argument '" + name.str() + "' does not fit into the type of its tensor", "cast the tensor before");
  return call.scalar(given, like);
}

template <typename Op> void unary(Call &call) { call.set(call.make<Op>(operand(call, "self"))); }

template <typename Op> void binary(Call &call) {
  Value self = operand(call, "self");
  call.set(call.make<Op>({self, other(call, "other", self)}));
}

/// `alpha * other`.
Value scaledOther(Call &call, llvm::StringRef name, Value like) {
  const double alpha = call.number("alpha");
  if (alpha == 1)
    return other(call, name, like);
  if (!call.isTensor(name))
    return call.scalar(alpha * call.number(name), like);
  Value value = other(call, name, like);
  if (isFloatValue(value))
    return call.scale(value, alpha);
  return call.make<model::MultiplyOp>({value, call.scalar(alpha, value)});
}

void add(Call &call) {
  Value self = operand(call, "self");
  if (!call.isTensor("other") && call.number("other") == 0)
    return call.set(self);
  // A count in a buffer, such as that of batch norm's steps.
  if (isa_and_nonnull<model::ReadOp, model::CountUpOp>(self.getDefiningOp()) && !call.isTensor("other") &&
      cast<RankedTensorType>(self.getType()).getElementType().isInteger(64) && call.number("other") == 1 &&
      call.number("alpha") == 1)
    return call.set(call.make<model::CountUpOp>({self}, {}, self.getType()));
  call.set(call.make<model::AddOp>({self, scaledOther(call, "other", self)}));
}

void subtract(Call &call) {
  Value self = operand(call, "self");
  call.set(call.make<model::SubtractOp>({self, scaledOther(call, "other", self)}));
}

void reversedSubtract(Call &call) {
  Value self = operand(call, "self");
  if (call.number("alpha") != 1)
    return call.refuse("argument 'alpha' other than 1");
  call.set(call.make<model::SubtractOp>({call.broadcast(other(call, "other", self), Call::shapeOf(self)), self}));
}

/// The factor, if it is one number for all elements and does not widen the result.
std::optional<double> factorOf(Call &call, Value self) {
  if (!isFloatValue(self) || Call::shapeOf(self) != llvm::ArrayRef<std::int64_t>(call.result().sizes))
    return std::nullopt;
  if (!call.isTensor("other"))
    return call.number("other");
  const ConstantPtr constant = call.tensor("other").constant;
  return constant ? constant->splat() : std::nullopt;
}

void multiply(Call &call) {
  if (call.result().isComplex)
    return multiplyComplex(call);
  Value self = operand(call, "self");
  if (const std::optional<double> factor = factorOf(call, self))
    return call.set(call.scale(self, *factor));
  call.set(call.make<model::MultiplyOp>({self, other(call, "other", self)}));
}

void divide(Call &call) {
  Value self = operand(call, "self");
  if (const std::optional<double> divisor = factorOf(call, self))
    return call.set(call.scale(self, 1 / *divisor));
  call.set(call.make<model::DivideOp>({self, other(call, "other", self)}));
}

void power(Call &call) {
  Value self = operand(call, "self");
  const double exponent = call.number("exponent");
  if (exponent == 1)
    return call.set(self);
  if (exponent == 2)
    return call.set(call.make<model::MultiplyOp>({self, self}));
  call.set(call.make<model::PowerOp>({self}, {{"exponent", call.builder.getF64FloatAttr(exponent)}}));
}

void square(Call &call) {
  Value self = operand(call, "self");
  call.set(call.make<model::MultiplyOp>({self, self}));
}

void reciprocal(Call &call) {
  Value self = operand(call, "self");
  call.set(call.make<model::PowerOp>({self}, {{"exponent", call.builder.getF64FloatAttr(-1)}}));
}

void gelu(Call &call) {
  const std::string approximation = call.text("approximate");
  call.set(call.make<model::GeluOp>(
      operand(call, "self"),
      {{"approximate", call.builder.getAttr<model::GeluApproximationAttr>(
                           approximation == "tanh" ? GeluApproximation::tanh : GeluApproximation::none)}}));
}

void softplus(Call &call) {
  // Beyond the threshold torch returns x, which in f32 is what softplus rounds to.
  const double beta = call.number("beta");
  if (beta <= 0 || call.number("threshold") < 20)
    return call.refuse("softplus with a beta of 0 or less, or a threshold below 20");
  call.set(call.scale(call.make<model::SoftplusOp>(call.scale(operand(call, "self"), beta)), 1 / beta));
}

/// x above 0, else `negative`.
void selectPositive(Call &call, Value x, Value negative) {
  call.set(call.select(call.compare(x, ComparePredicate::gt, call.scalar(0, x)), x, negative));
}

void leakyRelu(Call &call) {
  Value x = operand(call, "self");
  selectPositive(call, x, call.scale(x, call.number("negative_slope")));
}

void elu(Call &call) {
  Value x = operand(call, "self");
  if (call.number("scale") != 1 || call.number("input_scale") != 1)
    return call.refuse("elu with a scale other than 1");
  // Of the positive elements the exponential may be infinite, and infinity times a gradient of 0 is NaN: it is that of
  // at most 0.
  Value least = call.scale(call.make<model::ReluOp>(call.scale(x, -1)), -1);
  Value power = call.make<model::SubtractOp>({call.make<model::ExpOp>(least), call.scalar(1, x)});
  selectPositive(call, x, call.scale(power, call.number("alpha")));
}

/// relu(x + 3) - relu(x - 3) is 6 times the gate of hardsigmoid; both have the derivative 0 outside of it.
Value hardGate(Call &call, Value x) {
  Value low = call.make<model::ReluOp>(call.make<model::AddOp>({x, call.scalar(3, x)}));
  Value high = call.make<model::ReluOp>(call.make<model::SubtractOp>({x, call.scalar(3, x)}));
  return call.scale(call.make<model::SubtractOp>({low, high}), 1.0 / 6);
}

void negate(Call &call) {
  Value x = operand(call, "self");
  if (isFloatValue(x))
    return call.set(call.make<model::NegateOp>(x));
  call.set(call.make<model::SubtractOp>({call.broadcast(call.scalar(0, x), Call::shapeOf(x)), x}));
}

/// Without a derivative.
void sign(Call &call) {
  Value x = operand(call, "self"), zero = call.scalar(0, x);
  const auto step = [&](ComparePredicate predicate, double value) {
    return call.select(call.compare(x, predicate, zero), call.broadcast(call.scalar(value, x), Call::shapeOf(x)),
                       call.broadcast(zero, Call::shapeOf(x)));
  };
  call.set(call.make<model::AddOp>({step(ComparePredicate::gt, 1), step(ComparePredicate::lt, -1)}));
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

/// self + value a b.
void addProduct(Call &call) {
  Value product = call.make<model::MultiplyOp>({operand(call, "tensor1"), operand(call, "tensor2")});
  call.set(call.make<model::AddOp>({operand(call, "self"), call.scale(product, call.number("value"))}));
}

/// self + weight (end - self).
void interpolate(Call &call) {
  Value self = operand(call, "self");
  Value difference = call.make<model::SubtractOp>({operand(call, "end"), self});
  Value part = call.isTensor("weight") ? Value(call.make<model::MultiplyOp>({difference, operand(call, "weight")}))
                                       : call.scale(difference, call.number("weight"));
  call.set(call.make<model::AddOp>({self, part}));
}

void hardswish(Call &call) {
  Value x = operand(call, "self");
  call.set(call.make<model::MultiplyOp>({x, hardGate(call, x)}));
}

void hardsigmoid(Call &call) { call.set(hardGate(call, operand(call, "self"))); }

/// torch's derivative of abs is 0 at 0, as that of the larger of two equal values of opposite sign is.
void absolute(Call &call) {
  Value x = operand(call, "self");
  call.set(call.make<model::MaximumOp>({x, call.make<model::NegateOp>(x)}));
}

void minimum(Call &call) {
  Value a = call.make<model::NegateOp>(operand(call, "self"));
  Value b = call.make<model::NegateOp>(operand(call, "other"));
  call.set(call.make<model::NegateOp>(call.make<model::MaximumOp>({a, b})));
}

/// A clamp's derivative is 0 on the bounds, so it is no maximum and minimum.
void clampBetween(Call &call, std::optional<double> least, std::optional<double> most) {
  Value x = operand(call, "self");
  const Value source = x;
  if (least) {
    Value bound = call.scalar(*least, x);
    x = call.select(call.compare(source, ComparePredicate::gt, bound), x, bound);
  }
  if (most) {
    Value bound = call.scalar(*most, x);
    x = call.select(call.compare(source, ComparePredicate::lt, bound), x, bound);
  }
  call.set(x);
}

void clamp(Call &call) {
  const std::optional<double> least = call.optionalNumber("min"), most = call.optionalNumber("max");
  if (least && most && *least > *most)
    return call.refuse("clamp with a 'min' above its 'max'");
  clampBetween(call, least, most);
}
void clampMin(Call &call) { clampBetween(call, call.number("min"), std::nullopt); }
void clampMax(Call &call) { clampBetween(call, std::nullopt, call.number("max")); }
void hardtanh(Call &call) { clampBetween(call, call.number("min_val"), call.number("max_val")); }
void relu6(Call &call) { clampBetween(call, 0, 6); }

template <ComparePredicate predicate> void comparison(Call &call) {
  Value self = call.value("self");
  call.set(call.compare(self, predicate, other(call, "other", self)));
}

void maskedFill(Call &call) {
  Value self = operand(call, "self");
  call.set(call.select(call.value("mask"), other(call, "value", self), self));
}

void where(Call &call) {
  Type element = call.elementType(call.result().type);
  const auto branch = [&](llvm::StringRef name) -> Value {
    if (call.isTensor(name))
      return call.cast(call.value(name), element);
    return call.make<model::ConstantOp>({}, {{"value", call.builder.getF64FloatAttr(call.number(name))}},
                                        RankedTensorType::get({}, element));
  };
  call.set(call.select(call.value("condition"), branch("self"), branch("other")));
}

/// The elements of `src`, in the shape and type of the tensor that they replace.
void copy(Call &call) {
  call.set(call.broadcast(call.cast(call.value("src"), call.elementType(call.result().type)), call.result().sizes));
}

void fill(Call &call) {
  if (call.isTensor("value"))
    return call.set(
        call.broadcast(call.cast(call.value("value"), call.elementType(call.result().type)), call.result().sizes));
  call.set(call.make<model::ConstantOp>({}, {{"value", call.builder.getF64FloatAttr(call.number("value"))}},
                                        call.resultType()));
}

/// Of booleans; on integers these ops work on bits.
template <void (*build)(Call &)> void ofBooleans(Call &call) {
  if (call.result().type != ScalarType::boolean)
    return call.refuse("bits of integers");
  build(call);
}
void logicalNot(Call &call) {
  Value self = call.value("self");
  call.set(call.compare(self, ComparePredicate::eq, call.scalar(0, self)));
}
/// 1 where an element is not 0.
Value truth(Call &call, llvm::StringRef name) {
  return call.cast(call.value(name), call.elementType(ScalarType::boolean));
}
void logicalOr(Call &call) { call.set(call.make<model::MaximumOp>({truth(call, "self"), truth(call, "other")})); }
void logicalAnd(Call &call) { call.set(call.make<model::MultiplyOp>({truth(call, "self"), truth(call, "other")})); }

/// A cast to the type of the result; the identity where it is that of the operand, and for integers that are read as 32
/// bits.
void convert(Call &call) {
  Value self = call.value("self");
  const bool isNarrow =
      cast<RankedTensorType>(self.getType()).getElementType().isInteger(32) && call.result().type == ScalarType::i64;
  // torch wraps numbers outside of 0 to 255 around.
  const Type from = cast<RankedTensorType>(self.getType()).getElementType();
  if (call.result().type == ScalarType::u8 && !from.isUnsignedInteger(8))
    return call.refuse("a cast to uint8", "compare with a number, or cast to torch.int32");
  call.set(isNarrow ? self : operand(call, "self"));
}

constexpr AtenOp table[] = {
    {"abs.default", absolute},
    {"add.Scalar", add},
    {"add.Tensor", add},
    {"addcmul.default", addProduct},
    {"bitwise_and.Tensor", ofBooleans<logicalAnd>},
    {"bitwise_not.default", ofBooleans<logicalNot>},
    {"bitwise_or.Tensor", ofBooleans<logicalOr>},
    {"clamp.default", clamp},
    {"clamp_max.default", clampMax},
    {"clamp_min.default", clampMin},
    {"copy.default", copy},
    {"cos.default", unary<model::CosOp>},
    {"div.Scalar", divide},
    {"div.Tensor", divide},
    {"elu.default", elu},
    {"eq.Scalar", comparison<ComparePredicate::eq>},
    {"eq.Tensor", comparison<ComparePredicate::eq>},
    {"erf.default", unary<model::ErfOp>},
    {"exp.default", unary<model::ExpOp>},
    {"fill.Scalar", fill},
    {"fill.Tensor", fill},
    {"ge.Scalar", comparison<ComparePredicate::ge>},
    {"ge.Tensor", comparison<ComparePredicate::ge>},
    {"gelu.default", gelu},
    {"gt.Scalar", comparison<ComparePredicate::gt>},
    {"gt.Tensor", comparison<ComparePredicate::gt>},
    {"hardsigmoid.default", hardsigmoid},
    {"hardswish.default", hardswish},
    {"hardtanh.default", hardtanh},
    {"le.Scalar", comparison<ComparePredicate::le>},
    {"le.Tensor", comparison<ComparePredicate::le>},
    {"leaky_relu.default", leakyRelu},
    {"lerp.Scalar", interpolate},
    {"lerp.Tensor", interpolate},
    {"log_sigmoid.default", logSigmoid},
    {"mish.default", mish},
    {"prelu.default", prelu},
    {"sign.default", sign},
    {"log.default", unary<model::LogOp>},
    {"logical_and.default", logicalAnd},
    {"logical_not.default", logicalNot},
    {"logical_or.default", logicalOr},
    {"lt.Scalar", comparison<ComparePredicate::lt>},
    {"lt.Tensor", comparison<ComparePredicate::lt>},
    {"masked_fill.Scalar", maskedFill},
    {"masked_fill.Tensor", maskedFill},
    {"max.other", binary<model::MaximumOp>},
    {"maximum.default", binary<model::MaximumOp>},
    {"min.other", minimum},
    {"minimum.default", minimum},
    {"mul.Scalar", multiply},
    {"mul.Tensor", multiply},
    {"ne.Scalar", comparison<ComparePredicate::ne>},
    {"ne.Tensor", comparison<ComparePredicate::ne>},
    {"neg.default", negate},
    {"pow.Tensor_Scalar", power},
    {"reciprocal.default", reciprocal},
    {"relu.default", unary<model::ReluOp>},
    {"relu6.default", relu6},
    {"rsqrt.default", unary<model::RsqrtOp>},
    {"rsub.Scalar", reversedSubtract},
    {"rsub.Tensor", reversedSubtract},
    {"sigmoid.default", unary<model::SigmoidOp>},
    {"silu.default", unary<model::SiluOp>},
    {"sin.default", unary<model::SinOp>},
    {"softplus.default", softplus},
    {"sqrt.default", unary<model::SqrtOp>},
    {"square.default", square},
    {"sub.Scalar", subtract},
    {"sub.Tensor", subtract},
    {"tanh.default", unary<model::TanhOp>},
    {"__and__.Tensor", ofBooleans<logicalAnd>},
    {"__or__.Tensor", ofBooleans<logicalOr>},
    {"_to_copy.default", convert},
    {"to.device", convert, Memory::viewIfSame, sameBack},
    {"to.dtype", convert, Memory::viewIfSame, sameBack},
    {"to.dtype_layout", convert, Memory::viewIfSame, sameBack},
    {"to.other", convert, Memory::viewIfSame, sameBack},
    {"type_as.default", convert, Memory::viewIfSame, sameBack},
    {"where.ScalarOther", where},
    {"where.ScalarSelf", where},
    {"where.self", where},
};

} // namespace sluice::exported::pointwise

llvm::ArrayRef<AtenOp> exported::pointwiseOps() { return pointwise::table; }
