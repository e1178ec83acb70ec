//===- Convolution.cpp - convolutions over two dims -------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

namespace {
/// Attributes of the forward and of both derivatives.
struct Window {
  ArrayRef<int64_t> stride, padding, dilation;
  int64_t groups;
  template <typename Op>
  explicit Window(Op op)
      : stride(op.getStride()), padding(op.getPadding()), dilation(op.getDilation()),
        groups(static_cast<int64_t>(op.getGroups())) {}
};
} // namespace

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// The result's extents, or nullopt if a window is larger than the padded input.
static std::optional<SmallVector<int64_t>> resultShape(ArrayRef<int64_t> x, ArrayRef<int64_t> weight, const Window &w) {
  SmallVector<int64_t> shape = {x[0], 0, 0, weight[0]};
  for (int d = 0; d < 2; ++d) {
    int64_t room = x[1 + d] + 2 * w.padding[d] - w.dilation[d] * (weight[2 + d] - 1) - 1;
    if (room < 0)
      return std::nullopt;
    shape[1 + d] = room / w.stride[d] + 1;
  }
  return shape;
}

static LogicalResult verifyWindow(Operation *op, ArrayRef<int64_t> x, ArrayRef<int64_t> weight, const Window &w) {
  // conv2d_c5
  if (failed(verifyExtents(op)))
    return failure();
  // conv2d_c3
  if (x[3] % w.groups != 0 || weight[0] % w.groups != 0)
    return op->emitOpError() << "groups, expected a divisor of " << x[3] << " and " << weight[0] << " but got "
                             << w.groups;
  if (weight[1] != x[3] / w.groups)
    return op->emitOpError() << "weight has the wrong number of input channels, expected " << x[3] / w.groups
                             << " but got " << weight[1];
  // conv2d_c4
  if (!resultShape(x, weight, w))
    return op->emitOpError() << "window is larger than the padded input, expected at most "
                             << shapeText({x[1] + 2 * w.padding[0], x[2] + 2 * w.padding[1]}) << " but got "
                             << shapeText(weight.drop_front(2)) << " dilated by " << shapeText(w.dilation);
  return success();
}

LogicalResult Conv2dOp::verify() { return verifyWindow(*this, shapeOf(getX()), shapeOf(getWeight()), Window(*this)); }

LogicalResult Conv2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> x = shapeOf(adaptor.getX()), weight = shapeOf(adaptor.getWeight());
  Window window(adaptor);
  bool isSound = x.size() == 4 && weight.size() == 4 && window.stride.size() == 2 && window.padding.size() == 2 &&
                 window.dilation.size() == 2 && llvm::all_of(window.stride, [](int64_t s) { return s > 0; });
  std::optional<SmallVector<int64_t>> shape;
  if (isSound)
    shape = resultShape(x, weight, window);
  if (!shape)
    return emitOptionalError(location, "conv2d: cannot slide ", shapeText(weight), " over ", shapeText(x),
                             ", expected x [N, H, W, C] and weight [O, C / groups, h, w] that fit");
  types.push_back(tensorOf(*shape, elementOf(adaptor.getX())));
  return success();
}

/// The derivatives are verified as the forward that they belong to.
template <typename Op> static LogicalResult verifyGrad(Op op, Value x, Value weight) {
  Window window(op);
  if (failed(verifyWindow(op, shapeOf(x), shapeOf(weight), window)))
    return failure();
  return expectShape(op, "dy", op.getDy(), *resultShape(shapeOf(x), shapeOf(weight), window));
}

// conv2d_input_grad_c1, conv2d_weight_grad_c1
LogicalResult Conv2dInputGradOp::verify() { return verifyGrad(*this, getDx(), getWeight()); }
LogicalResult Conv2dWeightGradOp::verify() { return verifyGrad(*this, getX(), getDweight()); }

//===----------------------------------------------------------------------===//
// Scales and biases
//===----------------------------------------------------------------------===//

bool Conv2dOp::isScaleOrBias(OpOperand &operand) { return operand.getOperandNumber() == 2; }

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

static RankedTensorType like(Value value) { return tensorOf(shapeOf(value), elementOf(value)); }

FailureOrValues Conv2dOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value dy = cotangents[0];
  SmallVector<Value> gradients = {Conv2dInputGradOp::create(builder, like(getX()), dy, getWeight(), getStrideAttr(),
                                                            getPaddingAttr(), getDilationAttr(), getGroupsAttr()),
                                  Conv2dWeightGradOp::create(builder, like(getWeight()), dy, getX(), getStrideAttr(),
                                                             getPaddingAttr(), getDilationAttr(), getGroupsAttr())};
  if (getBias())
    gradients.push_back(ReduceSumOp::create(builder, dy, builder.getDenseI64ArrayAttr({0, 1, 2}), /*keep=*/UnitAttr()));
  return gradients;
}

// dx is linear in dy and in the weight, as y is in x and in the weight.
FailureOrValues Conv2dInputGradOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value ddx = cotangents[0];
  return SmallVector<Value>{Conv2dOp::create(builder, like(getDy()), ddx, getWeight(), /*bias=*/Value(),
                                             getStrideAttr(), getPaddingAttr(), getDilationAttr(), getGroupsAttr()),
                            Conv2dWeightGradOp::create(builder, like(getWeight()), getDy(), ddx, getStrideAttr(),
                                                       getPaddingAttr(), getDilationAttr(), getGroupsAttr())};
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

namespace {
/// Images and channels are parallel; height and width are replicated, and so are channels in groups.
struct ConvolutionFactors {
  ShardingRule rule;
  TensorFactors x, weight, y;

  ConvolutionFactors(ArrayRef<int64_t> xShape, ArrayRef<int64_t> weightShape, ArrayRef<int64_t> yShape, int64_t groups,
                     bool isInputReplicated) {
    unsigned n = rule.addFactor(xShape[0]);
    unsigned in = rule.addFactor(xShape[3], groups > 1 || isInputReplicated);
    unsigned out = rule.addFactor(yShape[3], groups > 1);
    unsigned part = groups > 1 ? rule.addFactor(weightShape[1], true) : in;
    auto replicated = [&](int64_t extent) { return rule.addFactor(extent, /*replicated=*/true); };
    x = {{n}, {replicated(xShape[1])}, {replicated(xShape[2])}, {in}};
    weight = {{out}, {part}, {replicated(weightShape[2])}, {replicated(weightShape[3])}};
    y = {{n}, {replicated(yShape[1])}, {replicated(yShape[2])}, {out}};
    rule.reduction = PartialReduction::sum;
  }
};
} // namespace

// With a bias, the channels of x, which are summed over, are replicated: the bias is added once.
ShardingRule Conv2dOp::getShardingRule() {
  ConvolutionFactors f(shapeOf(getX()), shapeOf(getWeight()), shapeOf(getY()), getGroups(), getBias() != nullptr);
  f.rule.operands.append({f.x, f.weight});
  if (getBias())
    f.rule.operands.push_back({f.y.back()});
  f.rule.results.push_back(f.y);
  return f.rule;
}

ShardingRule Conv2dInputGradOp::getShardingRule() {
  ConvolutionFactors f(shapeOf(getDx()), shapeOf(getWeight()), shapeOf(getDy()), getGroups(), false);
  f.rule.operands.append({f.y, f.weight});
  f.rule.results.push_back(f.x);
  return f.rule;
}

// Images are summed over.
ShardingRule Conv2dWeightGradOp::getShardingRule() {
  ConvolutionFactors f(shapeOf(getX()), shapeOf(getDweight()), shapeOf(getDy()), getGroups(), false);
  f.rule.operands.append({f.y, f.x});
  f.rule.results.push_back(f.weight);
  return f.rule;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// A multiplication and an addition for each element of y and each weight of its window.
static uint64_t productsOf(Value y, ArrayRef<int64_t> weight) {
  return 2 * elementsOf(y) * static_cast<uint64_t>(weight[1] * weight[2] * weight[3]);
}

OpCost Conv2dOp::getCost() {
  return streamingCost(*this, productsOf(getY(), shapeOf(getWeight())) + (getBias() ? elementsOf(getY()) : 0));
}
OpCost Conv2dInputGradOp::getCost() { return streamingCost(*this, productsOf(getDy(), shapeOf(getWeight()))); }
OpCost Conv2dWeightGradOp::getCost() { return streamingCost(*this, productsOf(getDy(), shapeOf(getDweight()))); }

} // namespace sluice::model
