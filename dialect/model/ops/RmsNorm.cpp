//===- RmsNorm.cpp - RMS norm -----------------------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult RmsNormOp::verify() {
  // rms_norm_c2
  return success(succeeded(expectShape(*this, "weight", getWeight(), {shapeOf(getX()).back()})) &&
                 succeeded(expectElement(*this, "weight", getWeight(), elementOf(getX()))));
}

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(adaptor.getX());
  if (x.getRank() < 1)
    return emitOptionalError(location, "rms_norm: x has too few dims, expected rank 1 or more but got 0");
  types.append({x, tensorOf(x.getShape().drop_back(), statisticsElement(x.getElementType()))});
  return success();
}

LogicalResult RmsNormGradOp::verify() {
  // rms_norm_grad_c2
  if (failed(expectShape(*this, "weight", getWeight(), {shapeOf(getX()).back()})) ||
      failed(expectElement(*this, "weight", getWeight(), elementOf(getX()))))
    return failure();
  // rms_norm_grad_c3
  return success(succeeded(expectShape(*this, "rstd", getRstd(), shapeOf(getX()).drop_back())) &&
                 succeeded(expectElement(*this, "rstd", getRstd(), statisticsElement(elementOf(getX())))));
}

LogicalResult RmsNormGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  types.append({adaptor.getX().getType(), adaptor.getWeight().getType()});
  return success();
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

LogicalResult RmsNormOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                  SmallVectorImpl<Value> &gradients) {
  if (cotangents[1])
    return emitOpError("has no derivative through its rstd, expected a use of y only");
  auto grad = RmsNormGradOp::create(builder, getLoc(), cotangents[0], getX(), getWeight(), getRstd());
  gradients.append(grad->result_begin(), grad->result_end());
  return success();
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> RmsNormOp::decompose(OpBuilder &builder) {
  Location location = getLoc();
  Type element = statisticsElement(elementOf(getX()));
  ArrayRef<int64_t> shape = shapeOf(getX());
  Value x = makeCast(builder, location, getX(), element);
  Value square = MultiplyOp::create(builder, location, x, x);
  Value mean = ReduceMeanOp::create(builder, location, square,
                                    builder.getDenseI64ArrayAttr({static_cast<int64_t>(shape.size()) - 1}),
                                    builder.getUnitAttr());
  Value epsilon = makeConstant(builder, location, getEpsilon().convertToDouble(), tensorOf({}, element));
  Value rstd = RsqrtOp::create(builder, location, AddOp::create(builder, location, mean, epsilon).getResult());
  Value normalized = MultiplyOp::create(builder, location, x, rstd);
  Value scaled = MultiplyOp::create(builder, location, normalized, makeCast(builder, location, getWeight(), element));
  return SmallVector<Value>{makeCast(builder, location, scaled, elementOf(getX())),
                            makeReshape(builder, location, rstd, shape.drop_back())};
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

// Rows are parallel, the normalized dim is whole.
ShardingRule RmsNormOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> shape = shapeOf(getX());
  TensorFactors x = addFactors(rule, shape, shape.size() - 1);
  TensorFactors columns = {x.back()}, rows(x.begin(), x.end() - 1);
  rule.operands.append({x, columns});
  rule.results.append({x, rows});
  return rule;
}

// As the forward; the gradient of the weight is a sum over rows.
ShardingRule RmsNormGradOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> shape = shapeOf(getX());
  TensorFactors x = addFactors(rule, shape, shape.size() - 1);
  TensorFactors columns = {x.back()}, rows(x.begin(), x.end() - 1);
  rule.operands.append({x, x, columns, rows});
  rule.results.append({x, columns});
  rule.reduction = PartialReduction::sum;
  return rule;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Per element: mean of squares 2, normalize 1, weight 1.
OpCost RmsNormOp::getCost() { return streamingCost(*this, 4 * elementsOf(getX())); }
// Per element: normalized x 1, dy weight 1, the row sum 2, dx 3, dweight 2.
OpCost RmsNormGradOp::getCost() { return streamingCost(*this, 9 * elementsOf(getX())); }

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

KernelCall RmsNormOp::getKernelCall() {
  return makeCall(*this, KernelId::rms_norm, {numberAttribute(*this, "epsilon", getEpsilon().convertToDouble())});
}

KernelCall RmsNormGradOp::getKernelCall() { return makeCall(*this, KernelId::rms_norm_grad); }

} // namespace sluice::model
