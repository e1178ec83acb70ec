//===- Pointwise.cpp - elementwise primitives --------------------------------------===//
//
// Sharding, cost and kernel of the binary and unary ops are defined once, in their base class (Pointwise.td).
//
//===----------------------------------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

#include <numbers>

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  return inferBroadcast(location, "compare", adaptor.getOperands(), IntegerType::get(context, 8, IntegerType::Unsigned),
                        types);
}

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  return inferBroadcast(location, "select", adaptor.getOperands(), elementOf(adaptor.getOnTrue()), types);
}

LogicalResult ScaleOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  return inferSame(adaptor.getOperand(), types);
}

LogicalResult PowerOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  return inferSame(adaptor.getOperand(), types);
}

LogicalResult ReluGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  return inferSame(adaptor.getY(), types);
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  return {};
}

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  if (getFactor().convertToDouble() == 1.0)
    return getOperand();
  return {};
}

OpFoldResult PowerOp::fold(FoldAdaptor) {
  if (getExponent().convertToDouble() == 1.0)
    return getOperand();
  return {};
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

// d(a + b) = da + db
LogicalResult AddOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed,
                              SmallVectorImpl<Value> &gradients) {
  for (unsigned i = 0; i < 2; ++i)
    gradients.push_back(needed[i] ? makeUnbroadcast(builder, getLoc(), cotangents[0], shapeOf(getOperand(i)))
                                  : Value());
  return success();
}

// d(a - b) = da - db
LogicalResult SubtractOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed,
                                   SmallVectorImpl<Value> &gradients) {
  Value dy = cotangents[0];
  gradients.push_back(needed[0] ? makeUnbroadcast(builder, getLoc(), dy, shapeOf(getLhs())) : Value());
  gradients.push_back(
      needed[1] ? makeUnbroadcast(builder, getLoc(), NegateOp::create(builder, getLoc(), dy), shapeOf(getRhs()))
                : Value());
  return success();
}

// d(a b) = b da + a db
LogicalResult MultiplyOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed,
                                   SmallVectorImpl<Value> &gradients) {
  for (unsigned i = 0; i < 2; ++i) {
    gradients.emplace_back();
    if (!needed[i])
      continue;
    Value product = MultiplyOp::create(builder, getLoc(), cotangents[0], getOperand(1 - i));
    gradients.back() = makeUnbroadcast(builder, getLoc(), product, shapeOf(getOperand(i)));
  }
  return success();
}

// y = a / b: da = dy / b, db = -dy y / b
LogicalResult DivideOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed,
                                 SmallVectorImpl<Value> &gradients) {
  Value quotient = DivideOp::create(builder, getLoc(), cotangents[0], getRhs());
  gradients.push_back(needed[0] ? makeUnbroadcast(builder, getLoc(), quotient, shapeOf(getLhs())) : Value());
  gradients.emplace_back();
  if (needed[1]) {
    Value product = MultiplyOp::create(builder, getLoc(), quotient, getResult());
    Value negated = NegateOp::create(builder, getLoc(), product);
    gradients[gradients.size() - 1] = makeUnbroadcast(builder, getLoc(), negated, shapeOf(getRhs()));
  }
  return success();
}

static Value makeCompare(OpBuilder &builder, Location location, Value lhs, Value rhs, ComparePredicate predicate) {
  return CompareOp::create(builder, location, lhs, rhs, predicate);
}

// The larger side takes dy; on a tie each takes half.
LogicalResult MaximumOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed,
                                  SmallVectorImpl<Value> &gradients) {
  Value dy = cotangents[0];
  Value zero = makeConstant(builder, getLoc(), 0, tensorOf({}, elementOf(dy)));
  Value half = makeScale(builder, getLoc(), dy, 0.5);
  Value tie = makeCompare(builder, getLoc(), getLhs(), getRhs(), ComparePredicate::eq);
  Value shared = SelectOp::create(builder, getLoc(), tie, half, zero);
  for (unsigned i = 0; i < 2; ++i) {
    gradients.emplace_back();
    if (!needed[i])
      continue;
    Value wins = makeCompare(builder, getLoc(), getOperand(i), getOperand(1 - i), ComparePredicate::gt);
    Value part = SelectOp::create(builder, getLoc(), wins, dy, shared);
    gradients.back() = makeUnbroadcast(builder, getLoc(), part, shapeOf(getOperand(i)));
  }
  return success();
}

LogicalResult NegateOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                 SmallVectorImpl<Value> &gradients) {
  gradients.push_back(NegateOp::create(builder, getLoc(), cotangents[0]));
  return success();
}

// y = exp x: dx = dy y
LogicalResult ExpOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                              SmallVectorImpl<Value> &gradients) {
  gradients.push_back(MultiplyOp::create(builder, getLoc(), cotangents[0], getResult()));
  return success();
}

// dx = dy / x
LogicalResult LogOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                              SmallVectorImpl<Value> &gradients) {
  gradients.push_back(DivideOp::create(builder, getLoc(), cotangents[0], getOperand()));
  return success();
}

// y = tanh x: dx = dy - dy y y
LogicalResult TanhOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                               SmallVectorImpl<Value> &gradients) {
  Value square = MultiplyOp::create(builder, getLoc(), getResult(), getResult());
  Value product = MultiplyOp::create(builder, getLoc(), cotangents[0], square);
  gradients.push_back(SubtractOp::create(builder, getLoc(), cotangents[0], product));
  return success();
}

// dx = dy cos x
LogicalResult SinOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                              SmallVectorImpl<Value> &gradients) {
  Value slope = CosOp::create(builder, getLoc(), getOperand());
  gradients.push_back(MultiplyOp::create(builder, getLoc(), cotangents[0], slope));
  return success();
}

// dx = -dy sin x
LogicalResult CosOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                              SmallVectorImpl<Value> &gradients) {
  Value slope = NegateOp::create(builder, getLoc(), SinOp::create(builder, getLoc(), getOperand()).getResult());
  gradients.push_back(MultiplyOp::create(builder, getLoc(), cotangents[0], slope));
  return success();
}

// dx = dy 2/sqrt(pi) exp(-x x)
LogicalResult ErfOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                              SmallVectorImpl<Value> &gradients) {
  Value square = MultiplyOp::create(builder, getLoc(), getOperand(), getOperand());
  Value slope = ExpOp::create(builder, getLoc(), NegateOp::create(builder, getLoc(), square).getResult());
  Value scaled = makeScale(builder, getLoc(), slope, 2.0 * std::numbers::inv_sqrtpi);
  gradients.push_back(MultiplyOp::create(builder, getLoc(), cotangents[0], scaled));
  return success();
}

// y = sqrt x: dx = dy / (2 y)
LogicalResult SqrtOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                               SmallVectorImpl<Value> &gradients) {
  Value half = makeScale(builder, getLoc(), cotangents[0], 0.5);
  gradients.push_back(DivideOp::create(builder, getLoc(), half, getResult()));
  return success();
}

// y = 1 / sqrt x: dx = -dy y / (2 x)
LogicalResult RsqrtOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                SmallVectorImpl<Value> &gradients) {
  Value product = MultiplyOp::create(builder, getLoc(), cotangents[0], getResult());
  Value scaled = makeScale(builder, getLoc(), product, -0.5);
  gradients.push_back(DivideOp::create(builder, getLoc(), scaled, getOperand()));
  return success();
}

// dx = dy where y > 0: the result is read, so that x need not be kept
LogicalResult ReluOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                               SmallVectorImpl<Value> &gradients) {
  gradients.push_back(ReluGradOp::create(builder, getLoc(), cotangents[0], getResult()));
  return success();
}

// y = 1 / (1 + exp(-x)): dx = dy (y - y y)
LogicalResult SigmoidOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                  SmallVectorImpl<Value> &gradients) {
  Value square = MultiplyOp::create(builder, getLoc(), getResult(), getResult());
  Value slope = SubtractOp::create(builder, getLoc(), getResult(), square);
  gradients.push_back(MultiplyOp::create(builder, getLoc(), cotangents[0], slope));
  return success();
}

// dx = dy sigmoid(x)
LogicalResult SoftplusOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                   SmallVectorImpl<Value> &gradients) {
  Value slope = SigmoidOp::create(builder, getLoc(), getOperand());
  gradients.push_back(MultiplyOp::create(builder, getLoc(), cotangents[0], slope));
  return success();
}

// dx = dy e x^(e - 1)
LogicalResult PowerOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                SmallVectorImpl<Value> &gradients) {
  double exponent = getExponent().convertToDouble();
  if (exponent == 0) {
    gradients.emplace_back();
    return success();
  }
  Value power = PowerOp::create(builder, getLoc(), getOperand(), builder.getF64FloatAttr(exponent - 1));
  Value slope = makeScale(builder, getLoc(), power, exponent);
  gradients.push_back(MultiplyOp::create(builder, getLoc(), cotangents[0], slope));
  return success();
}

LogicalResult ScaleOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                SmallVectorImpl<Value> &gradients) {
  gradients.push_back(makeScale(builder, getLoc(), cotangents[0], getFactor().convertToDouble()));
  return success();
}

// Each side takes dy where the condition selects it; the condition is not differentiable.
LogicalResult SelectOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed,
                                 SmallVectorImpl<Value> &gradients) {
  Value dy = cotangents[0];
  Value zero = makeConstant(builder, getLoc(), 0, tensorOf({}, elementOf(dy)));
  gradients.assign(3, Value());
  if (needed[1])
    gradients[1] = makeUnbroadcast(builder, getLoc(), SelectOp::create(builder, getLoc(), getCondition(), dy, zero),
                                   shapeOf(getOnTrue()));
  if (needed[2])
    gradients[2] = makeUnbroadcast(builder, getLoc(), SelectOp::create(builder, getLoc(), getCondition(), zero, dy),
                                   shapeOf(getOnFalse()));
  return success();
}

// Casts back; an integer on either side stops the derivative.
LogicalResult CastOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                               SmallVectorImpl<Value> &gradients) {
  bool active = isFloat(getOperand()) && isFloat(getResult());
  gradients.push_back(active ? makeCast(builder, getLoc(), cotangents[0], elementOf(getOperand())) : Value());
  return success();
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

ShardingRule PowerOp::getShardingRule() { return pointwiseRule(*this); }
ShardingRule ReluGradOp::getShardingRule() { return pointwiseRule(*this); }
ShardingRule ScaleOp::getShardingRule() { return linearRule(*this); }
ShardingRule CompareOp::getShardingRule() { return pointwiseRule(*this); }
ShardingRule SelectOp::getShardingRule() { return pointwiseRule(*this); }
ShardingRule CastOp::getShardingRule() { return pointwiseRule(*this); }

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

OpCost PowerOp::getCost() { return pointwiseCost(*this); }
OpCost ReluGradOp::getCost() { return pointwiseCost(*this); }
OpCost ScaleOp::getCost() { return pointwiseCost(*this); }
OpCost CompareOp::getCost() { return pointwiseCost(*this); }
OpCost SelectOp::getCost() { return pointwiseCost(*this); }
OpCost CastOp::getCost() { return pointwiseCost(*this, 0); }

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

KernelCall ScaleOp::getKernelCall() {
  return makeCall(*this, KernelId::scale, {numberAttribute(*this, "factor", getFactor().convertToDouble())});
}

KernelCall PowerOp::getKernelCall() {
  return makeCall(*this, KernelId::power, {numberAttribute(*this, "exponent", getExponent().convertToDouble())});
}

KernelCall ReluGradOp::getKernelCall() { return makeCall(*this, KernelId::relu_grad); }

KernelCall CompareOp::getKernelCall() {
  return makeCall(*this, KernelId::compare,
                  {integerAttribute(*this, "predicate", static_cast<int64_t>(getPredicate()))});
}

KernelCall SelectOp::getKernelCall() { return makeCall(*this, KernelId::select); }
KernelCall CastOp::getKernelCall() { return makeCall(*this, KernelId::cast); }

} // namespace sluice::model
