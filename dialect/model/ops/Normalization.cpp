//===- Normalization.cpp - norms ------------------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::verify() {
  // layer_norm_c2
  int64_t columns = shapeOf(getX()).back();
  for (auto [name, value] : {std::pair<StringRef, Value>("weight", getWeight()), {"bias", getBias()}})
    if (failed(expectShape(*this, name, value, {columns})) ||
        failed(expectElement(*this, name, value, elementOf(getX()))))
      return failure();
  return success();
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(adaptor.getX());
  if (x.getRank() < 1)
    return emitOptionalError(location, "layer_norm: x has too few dims, expected rank 1 or more but got 0");
  RankedTensorType rows = tensorOf(x.getShape().drop_back(), statisticsElement(x.getElementType()));
  types.append({x, rows, rows});
  return success();
}

LogicalResult LayerNormGradOp::verify() {
  // layer_norm_grad_c2
  if (failed(expectShape(*this, "weight", getWeight(), {shapeOf(getX()).back()})))
    return failure();
  // layer_norm_grad_c3
  for (auto [name, value] : {std::pair<StringRef, Value>("mean", getMean()), {"rstd", getRstd()}})
    if (failed(expectShape(*this, name, value, shapeOf(getX()).drop_back())) ||
        failed(expectElement(*this, name, value, statisticsElement(elementOf(getX())))))
      return failure();
  return success();
}

LogicalResult LayerNormGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  types.append({adaptor.getX().getType(), adaptor.getWeight().getType(), adaptor.getWeight().getType()});
  return success();
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                    SmallVectorImpl<Value> &gradients) {
  if (cotangents[1] || cotangents[2])
    return emitOpError("has no derivative through its mean and rstd, expected a use of y only");
  auto grad = LayerNormGradOp::create(builder, getLoc(), cotangents[0], getX(), getWeight(), getMean(), getRstd());
  gradients.append(grad->result_begin(), grad->result_end());
  return success();
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> LayerNormOp::decompose(OpBuilder &builder) {
  Location location = getLoc();
  Type element = statisticsElement(elementOf(getX()));
  ArrayRef<int64_t> shape = shapeOf(getX());
  SmallVector<int64_t> dims = {static_cast<int64_t>(shape.size()) - 1};
  auto meanOf = [&](Value value) -> Value {
    return ReduceMeanOp::create(builder, location, value, builder.getDenseI64ArrayAttr(dims), builder.getUnitAttr());
  };
  Value x = makeCast(builder, location, getX(), element);
  Value mean = meanOf(x);
  Value centred = SubtractOp::create(builder, location, x, mean);
  Value variance = meanOf(MultiplyOp::create(builder, location, centred, centred));
  Value epsilon = makeConstant(builder, location, getEpsilon().convertToDouble(), tensorOf({}, element));
  Value rstd = RsqrtOp::create(builder, location, AddOp::create(builder, location, variance, epsilon).getResult());
  Value normalized = MultiplyOp::create(builder, location, centred, rstd);
  Value scaled = MultiplyOp::create(builder, location, normalized, makeCast(builder, location, getWeight(), element));
  Value shifted = AddOp::create(builder, location, scaled, makeCast(builder, location, getBias(), element));
  Value y = makeCast(builder, location, shifted, elementOf(getX()));
  return SmallVector<Value>{y, makeReshape(builder, location, mean, shape.drop_back()),
                            makeReshape(builder, location, rstd, shape.drop_back())};
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

// Rows are parallel, the normalized dim is whole.
ShardingRule LayerNormOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> shape = shapeOf(getX());
  TensorFactors x = addFactors(rule, shape, shape.size() - 1);
  TensorFactors columns = {x.back()}, rows(x.begin(), x.end() - 1);
  rule.operands.append({x, columns, columns});
  rule.results.append({x, rows, rows});
  return rule;
}

// As the forward; the gradients of weight and bias are sums over rows.
ShardingRule LayerNormGradOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> shape = shapeOf(getX());
  TensorFactors x = addFactors(rule, shape, shape.size() - 1);
  TensorFactors columns = {x.back()}, rows(x.begin(), x.end() - 1);
  rule.operands.append({x, x, columns, rows, rows});
  rule.results.append({x, columns, columns});
  rule.reduction = PartialReduction::sum;
  return rule;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Per element: mean 1, variance 3, normalize 2, weight and bias 2.
OpCost LayerNormOp::getCost() { return streamingCost(*this, 8 * elementsOf(getX())); }
// Per element: normalized x 2, dweight 2, dbias 1, the two row sums 4, dx 5.
OpCost LayerNormGradOp::getCost() { return streamingCost(*this, 14 * elementsOf(getX())); }

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

KernelCall LayerNormOp::getKernelCall() {
  return makeCall(*this, KernelId::layer_norm, {numberAttribute(*this, "epsilon", getEpsilon().convertToDouble())});
}

KernelCall LayerNormGradOp::getKernelCall() { return makeCall(*this, KernelId::layer_norm_grad); }

} // namespace sluice::model
