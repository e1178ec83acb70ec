//===- Pointwise.cpp - elementwise ops of ATen --------------------------------------------===//

#include "passes/import/export/aten/Operands.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::pointwise {

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

void addTensor(Call &call) {
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

void subtractTensor(Call &call) {
  Value self = operand(call, "self");
  call.set(call.make<model::SubtractOp>({self, scaledOther(call, "other", self)}));
}

void reversedSubtract(Call &call) {
  Value self = operand(call, "self"), from = other(call, "other", self);
  const double alpha = call.number("alpha");
  if (alpha != 1)
    self = isFloatValue(self) ? call.scale(self, alpha) : multiply(call, self, call.scalar(alpha, self));
  call.set(call.make<model::SubtractOp>({call.broadcast(from, call.result().sizes), self}));
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

void multiplyTensor(Call &call) {
  if (call.result().isComplex)
    return multiplyComplex(call);
  Value self = operand(call, "self");
  if (const std::optional<double> factor = factorOf(call, self))
    return call.set(call.scale(self, *factor));
  call.set(call.make<model::MultiplyOp>({self, other(call, "other", self)}));
}

void divideTensor(Call &call) {
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

void negateTensor(Call &call) {
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

/// self + value a b, or value a / b.
template <typename Op> void addCombined(Call &call) {
  Value combined = call.make<Op>({operand(call, "tensor1"), operand(call, "tensor2")});
  call.set(call.make<model::AddOp>({operand(call, "self"), call.scale(combined, call.number("value"))}));
}

/// self + weight (end - self).
void interpolate(Call &call) {
  Value self = operand(call, "self");
  Value difference = call.make<model::SubtractOp>({operand(call, "end"), self});
  Value part = call.isTensor("weight") ? Value(call.make<model::MultiplyOp>({difference, operand(call, "weight")}))
                                       : call.scale(difference, call.number("weight"));
  call.set(call.make<model::AddOp>({self, part}));
}

void absolute(Call &call) { call.set(magnitude(call, operand(call, "self"))); }

Value least(Call &call, Value a, Value b) {
  return negate(call, call.make<model::MaximumOp>({negate(call, a), negate(call, b)}));
}
void minimum(Call &call) { call.set(least(call, operand(call, "self"), operand(call, "other"))); }

/// A NaN counts only beside another one.
template <bool isLeast> void withoutNan(Call &call) {
  Value a = operand(call, "self"), b = operand(call, "other");
  Value most = isLeast ? least(call, a, b) : Value(call.make<model::MaximumOp>({a, b}));
  call.set(call.select(isNan(call, b), a, call.select(isNan(call, a), b, most)));
}

/// Bounds that are tensors share the derivative with an equal element, in contrast to numbers.
void clampByTensors(Call &call) {
  Value x = operand(call, "self");
  if (!call.isNone("min"))
    x = call.make<model::MaximumOp>({x, operand(call, "min")});
  if (!call.isNone("max"))
    x = least(call, x, operand(call, "max"));
  call.set(x);
}
void clampMinByTensor(Call &call) {
  call.set(call.make<model::MaximumOp>({operand(call, "self"), operand(call, "min")}));
}
void clampMaxByTensor(Call &call) { call.set(least(call, operand(call, "self"), operand(call, "max"))); }

/// The size of self with the sign of the other; the derivative at 0 is 0. The sign of a zero is that of its reciprocal.
void copySign(Call &call) {
  Value x = operand(call, "self"), sign = other(call, "other", x), zero = call.scalar(0, sign);
  Value isZero = call.compare(sign, ComparePredicate::eq, zero);
  Value inverse = divide(call, call.broadcast(call.scalar(1, sign), Call::shapeOf(sign)), stopped(call, sign));
  Value direction = call.select(isZero, inverse, stopped(call, sign)), size = magnitude(call, x);
  call.set(call.select(call.compare(direction, ComparePredicate::lt, zero), negate(call, size), size));
}

/// Numbers for NaN and the infinities; by default 0 and the largest numbers of the type.
void replaceNonFinite(Call &call) {
  Value x = operand(call, "self");
  if (!elementOf(x).isF32() && !elementOf(x).isF64())
    return call.refuse("nan_to_num of another type than float32 and float64");
  const double most = elementOf(x).isF32() ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  const auto where = [&](Value condition, llvm::StringRef name, double otherwise) {
    x = call.select(condition, call.scalar(call.optionalNumber(name).value_or(otherwise), x), x);
  };
  const auto is = [&](double value) { return call.compare(x, ComparePredicate::eq, call.scalar(value, x)); };
  where(isNan(call, x), "nan", 0);
  where(is(INFINITY), "posinf", most);
  where(is(-INFINITY), "neginf", -most);
  call.set(x);
}

/// Of real numbers: 0, or pi of negative ones; without a derivative.
void angle(Call &call) {
  Value x = operand(call, "self"), zero = call.scalar(0, x);
  Value isNegative = call.compare(x, ComparePredicate::lt, zero);
  Value result = call.select(isNegative, call.broadcast(call.scalar(std::numbers::pi, x), Call::shapeOf(x)), zero);
  call.set(flat(call, call.select(isNan(call, x), x, result), x));
}

void same(Call &call) { call.set(operand(call, "self")); }
void degreesToRadians(Call &call) { call.set(call.scale(operand(call, "self"), std::numbers::pi / 180)); }
void radiansToDegrees(Call &call) { call.set(call.scale(operand(call, "self"), 180 / std::numbers::pi)); }

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
    {"add.Scalar", addTensor},
    {"add.Tensor", addTensor},
    {"addcdiv.default", addCombined<model::DivideOp>},
    {"addcmul.default", addCombined<model::MultiplyOp>},
    {"angle.default", angle},
    {"bitwise_and.Tensor", ofBooleans<logicalAnd>},
    {"bitwise_not.default", ofBooleans<logicalNot>},
    {"bitwise_or.Tensor", ofBooleans<logicalOr>},
    {"clamp.default", clamp},
    {"clamp.Tensor", clampByTensors},
    {"clamp_max.default", clampMax},
    {"clamp_max.Tensor", clampMaxByTensor},
    {"clamp_min.default", clampMin},
    {"clamp_min.Tensor", clampMinByTensor},
    {"conj_physical.default", same},
    {"copy.default", copy},
    {"copysign.Scalar", copySign},
    {"copysign.Tensor", copySign},
    {"deg2rad.default", degreesToRadians},
    {"cos.default", unary<model::CosOp>},
    {"div.Scalar", divideTensor},
    {"div.Tensor", divideTensor},
    {"divide.Scalar", divideTensor},
    {"divide.Tensor", divideTensor},
    {"eq.Scalar", comparison<ComparePredicate::eq>},
    {"eq.Tensor", comparison<ComparePredicate::eq>},
    {"erf.default", unary<model::ErfOp>},
    {"exp.default", unary<model::ExpOp>},
    {"fill.Scalar", fill},
    {"fill.Tensor", fill},
    {"fmax.default", withoutNan<false>},
    {"fmin.default", withoutNan<true>},
    {"ge.Scalar", comparison<ComparePredicate::ge>},
    {"ge.Tensor", comparison<ComparePredicate::ge>},
    {"gt.Scalar", comparison<ComparePredicate::gt>},
    {"gt.Tensor", comparison<ComparePredicate::gt>},
    {"hardtanh.default", hardtanh},
    {"le.Scalar", comparison<ComparePredicate::le>},
    {"le.Tensor", comparison<ComparePredicate::le>},
    {"lerp.Scalar", interpolate},
    {"lerp.Tensor", interpolate},
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
    {"multiply.Scalar", multiplyTensor},
    {"multiply.Tensor", multiplyTensor},
    {"mul.Scalar", multiplyTensor},
    {"mul.Tensor", multiplyTensor},
    {"nan_to_num.default", replaceNonFinite},
    {"ne.Scalar", comparison<ComparePredicate::ne>},
    {"ne.Tensor", comparison<ComparePredicate::ne>},
    {"neg.default", negateTensor},
    {"positive.default", same},
    {"pow.Tensor_Scalar", power},
    {"rad2deg.default", radiansToDegrees},
    {"reciprocal.default", reciprocal},
    {"relu6.default", relu6},
    {"rsqrt.default", unary<model::RsqrtOp>},
    {"rsub.Scalar", reversedSubtract},
    {"rsub.Tensor", reversedSubtract},
    {"sin.default", unary<model::SinOp>},
    {"sqrt.default", unary<model::SqrtOp>},
    {"square.default", square},
    {"subtract.Scalar", subtractTensor},
    {"subtract.Tensor", subtractTensor},
    {"sub.Scalar", subtractTensor},
    {"sub.Tensor", subtractTensor},
    {"true_divide.Tensor", divideTensor},
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
