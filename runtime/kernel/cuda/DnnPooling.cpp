//===- DnnPooling.cpp - pooling with cuDNN -------------------------------------------------===//
//
// cuDNN does not compute the gradient of a maximum: it would read the position of the largest element from memory that
// its forward writes, and a plan keeps only the image.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/ConvolutionShape.h"
#include "runtime/kernel/cuda/DnnKernels.h"

namespace sluice::cuda {
namespace {

/// x is the image, y has one element per window; or their gradients.
Status addPool(const KernelRequest &request, DnnGraph &graph, const Operand &x, const Operand &y, bool isMean) {
  SLUICE_ASSIGN_OR_RETURN(const cpu::PoolShape s, cpu::PoolShape::of(request, x, y));
  DnnWindow window;
  for (std::size_t d = 0; d < 2; ++d) {
    window.size[d] = s.adaptive ? s.in[d] / s.out[d] : s.kernel[d];
    window.stride[d] = s.adaptive ? window.size[d] : s.stride[d];
    window.before[d] = window.behind[d] = s.adaptive ? 0 : s.padding[d];
  }
  const bool forward = &x == &request.inputs[0];
  const DnnTensor image = dnnImage(graph, forward ? 0 : 1, x), result = dnnImage(graph, forward ? 1 : 0, y);
  graph.resample(forward ? dnn::resampleForward : dnn::resampleGrad,
                 !isMean            ? dnn::maximum
                 : s.withoutPadding ? dnn::meanWithoutPadding
                                    : dnn::meanWithPadding,
                 window, image, result);
  return {};
}

/// Adaptive windows need one size.
Status checkPool(const KernelRequest &request, const Operand &x, const Operand &y) {
  if (x.dtype == DType::f64)
    return refusedError("element type of a pooling, expected f32, bf16 or f16 but got f64");
  for (int d = 1; d < 3 && request.attributes && request.attributes->integer("adaptive", 0) != 0; ++d)
    if (x.extent[d] % y.extent[d] != 0)
      return refusedError("adaptive windows, expected all of one size");
  return {};
}

} // namespace

Status checkDnnPool(const KernelRequest &request) { return checkPool(request, request.inputs[0], request.outputs[0]); }
Status checkDnnPoolGrad(const KernelRequest &request) {
  return checkPool(request, request.outputs[0], request.inputs[0]);
}

Status dnnMaxPool(const KernelRequest &request, DnnGraph &graph) {
  return addPool(request, graph, request.inputs[0], request.outputs[0], false);
}
Status dnnMeanPool(const KernelRequest &request, DnnGraph &graph) {
  return addPool(request, graph, request.inputs[0], request.outputs[0], true);
}
Status dnnMeanPoolGrad(const KernelRequest &request, DnnGraph &graph) {
  return addPool(request, graph, request.outputs[0], request.inputs[0], true);
}

} // namespace sluice::cuda
