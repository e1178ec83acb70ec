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

LogicalResult LogSumExpOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  if (shapeOf(adaptor.getX()).empty())
    return emitOptionalError(location, "logsumexp: operand has too few dims, expected rank 1 or more but got 0");
  types.push_back(tensorOf(shapeOf(adaptor.getX()).drop_back(), elementOf(adaptor.getX())));
  return success();
}

static LogicalResult inferReduction(Value operand, ArrayRef<int64_t> dims, bool keep, SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> shape;
  for (auto [d, extent] : llvm::enumerate(shapeOf(operand))) {
    bool reduced = llvm::is_contained(dims, static_cast<int64_t>(d));
    if (!reduced || keep)
      shape.push_back(reduced ? 1 : extent);
  }
  types.push_back(tensorOf(shape, elementOf(operand)));
  return success();
}

LogicalResult ReduceSumOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  return inferReduction(adaptor.getOperand(), adaptor.getDims(), adaptor.getKeep(), types);
}
LogicalResult ReduceMeanOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  return inferReduction(adaptor.getOperand(), adaptor.getDims(), adaptor.getKeep(), types);
}
LogicalResult ReduceMaxOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  return inferReduction(adaptor.getOperand(), adaptor.getDims(), adaptor.getKeep(), types);
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
LogicalResult ReduceSumOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                    SmallVectorImpl<Value> &gradients) {
  gradients.push_back(makeExpand(builder, getLoc(), cotangents[0], shapeOf(getOperand()), getDims()));
  return success();
}

// dx = dy / count, repeated
LogicalResult ReduceMeanOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                     SmallVectorImpl<Value> &gradients) {
  Value share = makeScale(builder, getLoc(), cotangents[0], 1.0 / countOf(getOperand(), getDims()));
  gradients.push_back(makeExpand(builder, getLoc(), share, shapeOf(getOperand()), getDims()));
  return success();
}

// dx = dy / ties where x is the maximum
LogicalResult ReduceMaxOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                    SmallVectorImpl<Value> &gradients) {
  Location location = getLoc();
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  RankedTensorType scalar = tensorOf({}, elementOf(getOperand()));
  Value zero = makeConstant(builder, location, 0, scalar), one = makeConstant(builder, location, 1, scalar);
  Value largest = makeExpand(builder, location, getResult(), shape, getDims());
  Value hit = CompareOp::create(builder, location, getOperand(), largest, ComparePredicate::eq);
  Value ones = SelectOp::create(builder, location, hit, one, zero);
  Value ties = ReduceSumOp::create(builder, location, ones, getDimsAttr(), getKeepAttr());
  Value share = DivideOp::create(builder, location, cotangents[0], ties);
  gradients.push_back(
      SelectOp::create(builder, location, hit, makeExpand(builder, location, share, shape, getDims()), zero));
  return success();
}

// dx = dy exp(x - y): the softmax times dy
LogicalResult LogSumExpOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                    SmallVectorImpl<Value> &gradients) {
  Location location = getLoc();
  ArrayRef<int64_t> shape = shapeOf(getX());
  SmallVector<int64_t> dims = {static_cast<int64_t>(shape.size()) - 1};
  Value difference = SubtractOp::create(builder, location, getX(), makeExpand(builder, location, getY(), shape, dims));
  Value share = ExpOp::create(builder, location, difference);
  gradients.push_back(
      MultiplyOp::create(builder, location, share, makeExpand(builder, location, cotangents[0], shape, dims)));
  return success();
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

// max x + log sum exp(x - max x)
FailureOr<SmallVector<Value>> LogSumExpOp::decompose(OpBuilder &builder) {
  Location location = getLoc();
  auto dims = builder.getDenseI64ArrayAttr({typeOf(getX()).getRank() - 1});
  Value x = makeCast(builder, location, getX(), statisticsElement(elementOf(getX())));
  Value largest = ReduceMaxOp::create(builder, location, x, dims, builder.getUnitAttr());
  Value power = ExpOp::create(builder, location, SubtractOp::create(builder, location, x, largest).getResult());
  Value sum = ReduceSumOp::create(builder, location, power, dims, builder.getUnitAttr());
  Value y = AddOp::create(builder, location, LogOp::create(builder, location, sum).getResult(), largest);
  Value narrow = makeCast(builder, location, y, elementOf(getX()));
  return SmallVector<Value>{makeReshape(builder, location, narrow, shapeOf(getY()))};
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

/// Reduced dims are factors of the operand alone.
static ShardingRule reductionRule(Value operand, ArrayRef<int64_t> dims, bool keep, PartialReduction reduction,
                                  bool whole) {
  ShardingRule rule;
  TensorFactors from, to;
  for (auto [d, extent] : llvm::enumerate(shapeOf(operand))) {
    bool reduced = llvm::is_contained(dims, static_cast<int64_t>(d));
    from.push_back({rule.addFactor(extent, reduced && whole)});
    if (!reduced)
      to.push_back(from.back());
    else if (keep)
      to.emplace_back();
  }
  rule.operands.push_back(from);
  rule.results.push_back(to);
  rule.reduction = reduction;
  return rule;
}

ShardingRule ReduceSumOp::getShardingRule() {
  ShardingRule rule = reductionRule(getOperand(), getDims(), getKeep(), PartialReduction::sum, false);
  rule.linear = true;
  return rule;
}
// The mean of parts of different sizes is not the mean: its dims are whole.
ShardingRule ReduceMeanOp::getShardingRule() {
  return reductionRule(getOperand(), getDims(), getKeep(), PartialReduction::none, true);
}
ShardingRule ReduceMaxOp::getShardingRule() {
  return reductionRule(getOperand(), getDims(), getKeep(), PartialReduction::max, false);
}
// Rows are parallel, the last dim is reduced.
ShardingRule LogSumExpOp::getShardingRule() {
  int64_t last = typeOf(getX()).getRank() - 1;
  return reductionRule(getX(), {last}, /*keep=*/false, PartialReduction::logsumexp, false);
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

KernelCall ReduceSumOp::getKernelCall() {
  return makeCall(*this, KernelId::reduce_sum, {listAttribute(*this, "dims", getDims())});
}
KernelCall ReduceMeanOp::getKernelCall() {
  return makeCall(*this, KernelId::reduce_sum,
                  {listAttribute(*this, "dims", getDims()), integerAttribute(*this, "mean", 1)});
}
KernelCall ReduceMaxOp::getKernelCall() {
  return makeCall(*this, KernelId::reduce_max, {listAttribute(*this, "dims", getDims())});
}
KernelCall LogSumExpOp::getKernelCall() { return makeCall(*this, KernelId::logsumexp); }

} // namespace sluice::model
