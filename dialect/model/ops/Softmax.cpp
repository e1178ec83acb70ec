//===- Softmax.cpp - softmax over the last dim --------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  return inferSame(adaptor.getX(), types);
}

LogicalResult SoftmaxGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  return inferSame(adaptor.getY(), types);
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                  SmallVectorImpl<Value> &gradients) {
  gradients.push_back(SoftmaxGradOp::create(builder, getLoc(), cotangents[0], getY()));
  return success();
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

// exp(x - max x) / sum exp(x - max x)
FailureOr<SmallVector<Value>> SoftmaxOp::decompose(OpBuilder &builder) {
  Location location = getLoc();
  auto dims = builder.getDenseI64ArrayAttr({typeOf(getX()).getRank() - 1});
  Value x = makeCast(builder, location, getX(), statisticsElement(elementOf(getX())));
  Value largest = ReduceMaxOp::create(builder, location, x, dims, builder.getUnitAttr());
  Value shifted = SubtractOp::create(builder, location, x, largest);
  Value weights = ExpOp::create(builder, location, shifted);
  Value sum = ReduceSumOp::create(builder, location, weights, dims, builder.getUnitAttr());
  Value y = DivideOp::create(builder, location, weights, sum);
  return SmallVector<Value>{makeCast(builder, location, y, elementOf(getX()))};
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

/// Rows are parallel, the last dim is whole.
static ShardingRule rowRule(Operation *op) {
  ShardingRule rule;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  TensorFactors x = addFactors(rule, shape, shape.size() - 1);
  rule.operands.assign(op->getNumOperands(), x);
  rule.results.push_back(x);
  return rule;
}

ShardingRule SoftmaxOp::getShardingRule() { return rowRule(*this); }
ShardingRule SoftmaxGradOp::getShardingRule() { return rowRule(*this); }

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Per element: maximum, subtract, exp, sum, divide.
OpCost SoftmaxOp::getCost() { return pointwiseCost(*this, 5); }
// Per element: multiply and sum, subtract, multiply.
OpCost SoftmaxGradOp::getCost() { return pointwiseCost(*this, 4); }

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

KernelCall SoftmaxOp::getKernelCall() { return makeCall(*this, KernelId::softmax); }
KernelCall SoftmaxGradOp::getKernelCall() { return makeCall(*this, KernelId::softmax_grad); }

} // namespace sluice::model
