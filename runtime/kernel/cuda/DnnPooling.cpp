//===- DnnPooling.cpp - pooling with cuDNN -------------------------------------------------===//
//
// The gradient of a maximum is not among them: cuDNN's reads which element was the largest from memory that its forward
// writes, and a plan keeps the image alone.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/ConvolutionShape.h"
#include "runtime/kernel/cuda/DnnKernels.h"

namespace sluice::cuda {
namespace {

DnnTensor planesOf(DnnGraph &graph, int place, const Operand &o) {
  return graph.memory(place, *dnnType(o.dtype), {o.extent[0], o.extent[3], o.extent[1], o.extent[2]},
                      {o.strides[0], o.strides[3], o.strides[1], o.strides[2]});
}

/// x has the windows' places, y one number a window.
Status addPool(const KernelRequest &request, DnnGraph &graph, const Operand &x, const Operand &y, bool isMean) {
  SLUICE_ASSIGN_OR_RETURN(const cpu::PoolShape s, cpu::PoolShape::of(request, x, y));
  DnnWindow window;
  for (std::size_t d = 0; d < 2; ++d) {
    window.size[d] = s.adaptive ? s.in[d] / s.out[d] : s.kernel[d];
    window.stride[d] = s.adaptive ? window.size[d] : s.stride[d];
    window.before[d] = window.behind[d] = s.adaptive ? 0 : s.padding[d];
  }
  const bool forward = &x == &request.inputs[0];
  const DnnTensor places = planesOf(graph, forward ? 0 : 1, x), numbers = planesOf(graph, forward ? 1 : 0, y);
  graph.resample(forward ? dnn::resampleForward : dnn::resampleGrad,
                 !isMean            ? dnn::maximum
                 : s.withoutPadding ? dnn::meanWithoutPadding
                                    : dnn::meanWithPadding,
                 window, places, numbers);
  return {};
}

/// Adaptive windows are like any others where they are all alike.
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
