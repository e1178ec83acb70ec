//===- Reduction.cpp - reductions over dims ------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

// reduce_c1
LogicalResult ReduceSumOp::verify() { return expectDims(*this, getDims(), typeOf(getOperand()).getRank()); }
LogicalResult ReduceMeanOp::verify() { return expectDims(*this, getDims(), typeOf(getOperand()).getRank()); }
LogicalResult ReduceMaxOp::verify() { return expectDims(*this, getDims(), typeOf(getOperand()).getRank()); }

LogicalResult inferReduction(Value operand, ArrayRef<int64_t> dims, bool keep, Type element,
                             SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> shape;
  for (auto [d, extent] : llvm::enumerate(shapeOf(operand))) {
    bool reduced = llvm::is_contained(dims, static_cast<int64_t>(d));
    if (!reduced || keep)
      shape.push_back(reduced ? 1 : extent);
  }
  types.push_back(tensorOf(shape, element));
  return success();
}

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

LogicalResult ReduceSumOp::widenResult(unsigned, Type element) {
  setOutput(element);
  setElement(getResult(), element);
  return success();
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

static int64_t countOf(Value operand, ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= shapeOf(operand)[dim];
  return count;
}

// dx = dy, repeated
FailureOrValues ReduceSumOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{makeExpand(builder, cotangents[0], shapeOf(getOperand()), getDims())};
}

// dx = dy / count, repeated
FailureOrValues ReduceMeanOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value share = makeScale(builder, cotangents[0], 1.0 / countOf(getOperand(), getDims()));
  return SmallVector<Value>{makeExpand(builder, share, shapeOf(getOperand()), getDims())};
}

// dx = dy / ties where x is the maximum
FailureOrValues ReduceMaxOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  RankedTensorType scalar = tensorOf({}, elementOf(getOperand()));
  Value zero = makeConstant(builder, 0, scalar), one = makeConstant(builder, 1, scalar);
  Value largest = makeExpand(builder, getResult(), shape, getDims());
  Value hit = CompareOp::create(builder, getOperand(), largest, ComparePredicate::eq);
  Value ones = SelectOp::create(builder, hit, one, zero);
  Value ties = ReduceSumOp::create(builder, ones, getDimsAttr(), getKeepAttr());
  Value share = DivideOp::create(builder, cotangents[0], ties);
  return SmallVector<Value>{SelectOp::create(builder, hit, makeExpand(builder, share, shape, getDims()), zero)};
}

// dx = dy exp(x - y): the softmax times dy
FailureOrValues LogSumExpOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  ArrayRef<int64_t> shape = shapeOf(getX());
  const int64_t last = shape.size() - 1;
  Value difference = SubtractOp::create(builder, getX(), makeExpand(builder, getY(), shape, last));
  Value share = ExpOp::create(builder, difference);
  return SmallVector<Value>{MultiplyOp::create(builder, share, makeExpand(builder, cotangents[0], shape, last))};
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

// max x + log sum exp(x - max x)
FailureOrValues LogSumExpOp::decompose(ImplicitLocOpBuilder &builder) {
  RowExponentials rows(builder, makeCast(builder, getX(), statisticsElement(elementOf(getX()))));
  Value narrow = makeCast(builder, rows.logSum(builder), elementOf(getX()));
  return SmallVector<Value>{makeReshape(builder, narrow, shapeOf(getY()))};
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

OpCost ReduceSumOp::getCost() { return streamingCost(*this, elementsOf(getOperand())); }
OpCost ReduceMeanOp::getCost() { return streamingCost(*this, elementsOf(getOperand()) + elementsOf(getResult())); }
OpCost ReduceMaxOp::getCost() { return streamingCost(*this, elementsOf(getOperand())); }
// Per element: maximum, subtract, exp, add.
OpCost LogSumExpOp::getCost() { return streamingCost(*this, 4 * elementsOf(getX())); }

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

KernelCall ReduceMeanOp::getKernelCall() {
  KernelCall call = recordedCall(*this, KernelId::reduce_sum);
  call.attributes.push_back(integerAttribute(*this, "mean", 1));
  return call;
}

} // namespace sluice::model
