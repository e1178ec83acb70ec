//===- Pooling.cpp - maxima and means of windows over two dims ---------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static bool areWindows(ArrayRef<int64_t> kernel, ArrayRef<int64_t> stride, ArrayRef<int64_t> padding) {
  return kernel.size() == 2 && stride.size() == 2 && padding.size() == 2 && stride[0] > 0 && stride[1] > 0;
}

static SmallVector<int64_t> pooledShape(ArrayRef<int64_t> x, ArrayRef<int64_t> kernel, ArrayRef<int64_t> stride,
                                        ArrayRef<int64_t> padding) {
  SmallVector<int64_t> shape(x);
  for (int d = 0; d < 2; ++d)
    shape[1 + d] = (x[1 + d] + 2 * padding[d] - kernel[d]) / stride[d] + 1;
  return shape;
}

/// Every window must have an element that is not padding.
template <typename Op> static LogicalResult verifyWindows(Op op, ArrayRef<int64_t> x) {
  if (failed(verifyExtents(op)))
    return failure();
  for (int d = 0; d < 2; ++d) {
    // pool2d_c3
    if (2 * op.getPadding()[d] > op.getKernel()[d])
      return op.emitOpError() << "padding is out of range, expected at most half the kernel " << op.getKernel()[d]
                              << " but got " << op.getPadding()[d];
    // pool2d_c4
    if (op.getKernel()[d] > x[1 + d] + 2 * op.getPadding()[d])
      return op.emitOpError() << "window is larger than the padded input, expected at most "
                              << x[1 + d] + 2 * op.getPadding()[d] << " but got " << op.getKernel()[d];
  }
  return success();
}

template <typename Adaptor>
static LogicalResult inferPooled(std::optional<Location> location, StringRef op, Adaptor adaptor,
                                 SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> x = shapeOf(adaptor.getX());
  if (x.size() != 4 || !areWindows(adaptor.getKernel(), adaptor.getStride(), adaptor.getPadding()))
    return emitOptionalError(location, op,
                             ": expected x [N, H, W, C] and a kernel, stride and padding of two numbers "
                             "each but got x of rank ",
                             x.size());
  SmallVector<int64_t> shape = pooledShape(x, adaptor.getKernel(), adaptor.getStride(), adaptor.getPadding());
  types.push_back(tensorOf(shape, elementOf(adaptor.getX())));
  return success();
}

LogicalResult MaxPool2dOp::verify() { return verifyWindows(*this, shapeOf(getX())); }
LogicalResult AvgPool2dOp::verify() { return verifyWindows(*this, shapeOf(getX())); }

LogicalResult MaxPool2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  return inferPooled(location, "max_pool2d", adaptor, types);
}
LogicalResult AvgPool2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  return inferPooled(location, "avg_pool2d", adaptor, types);
}

template <typename Op> static LogicalResult verifyPoolGrad(Op op, Value x) {
  if (failed(verifyWindows(op, shapeOf(x))))
    return failure();
  return expectShape(op, "dy", op.getDy(), pooledShape(shapeOf(x), op.getKernel(), op.getStride(), op.getPadding()));
}

// max_pool2d_grad_c1, avg_pool2d_grad_c1
LogicalResult MaxPool2dGradOp::verify() { return verifyPoolGrad(*this, getX()); }
LogicalResult AvgPool2dGradOp::verify() { return verifyPoolGrad(*this, getDx()); }

LogicalResult AdaptiveAvgPool2dOp::verify() {
  // adaptive_avg_pool2d_c2
  if (shapeOf(getX())[1] == 0 || shapeOf(getX())[2] == 0)
    return emitOpError() << "extent is out of range, expected height and width of at least 1 but got "
                         << shapeText(shapeOf(getX()).slice(1, 2));
  return success();
}

LogicalResult AdaptiveAvgPool2dOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                                    SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> x = shapeOf(adaptor.getX()), output = adaptor.getOutput();
  if (x.size() != 4 || output.size() != 2)
    return emitOptionalError(location,
                             "adaptive_avg_pool2d: x and output have the wrong ranks, expected 4 and 2 but "
                             "got ",
                             x.size(), " and ", output.size());
  types.push_back(tensorOf({x[0], output[0], output[1], x[3]}, elementOf(adaptor.getX())));
  return success();
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

FailureOrValues MaxPool2dOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{
      MaxPool2dGradOp::create(builder, cotangents[0], getX(), getKernelAttr(), getStrideAttr(), getPaddingAttr())};
}

FailureOrValues AvgPool2dOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{AvgPool2dGradOp::create(builder, tensorOf(shapeOf(getX()), elementOf(getX())),
                                                    cotangents[0], getKernelAttr(), getStrideAttr(), getPaddingAttr(),
                                                    getWithoutPaddingAttr())};
}

FailureOrValues AdaptiveAvgPool2dOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{
      AdaptiveAvgPool2dGradOp::create(builder, tensorOf(shapeOf(getX()), elementOf(getX())), cotangents[0])};
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// One operation for each element of a window.
static OpCost windowCost(Operation *op, Value windows, ArrayRef<int64_t> kernel) {
  return streamingCost(op, elementsOf(windows) * static_cast<uint64_t>(kernel[0] * kernel[1]));
}

OpCost MaxPool2dOp::getCost() { return windowCost(*this, getY(), getKernel()); }
OpCost MaxPool2dGradOp::getCost() { return windowCost(*this, getDy(), getKernel()); }
OpCost AvgPool2dOp::getCost() { return windowCost(*this, getY(), getKernel()); }
OpCost AvgPool2dGradOp::getCost() { return windowCost(*this, getDy(), getKernel()); }
OpCost AdaptiveAvgPool2dOp::getCost() { return streamingCost(*this, elementsOf(getX())); }
OpCost AdaptiveAvgPool2dGradOp::getCost() { return streamingCost(*this, elementsOf(getDx())); }

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

KernelCall AdaptiveAvgPool2dOp::getKernelCall() {
  return makeCall(*this, KernelId::avg_pool2d, {integerAttribute(*this, "adaptive", 1)});
}
KernelCall AdaptiveAvgPool2dGradOp::getKernelCall() {
  return makeCall(*this, KernelId::avg_pool2d_grad, {integerAttribute(*this, "adaptive", 1)});
}

} // namespace sluice::model
