//===- DnnConvolution.cpp - convolution and its gradients with cuDNN -----------------------===//
//
// cuDNN's dims are images, channels, height and width, with strides that make channels innermost. The weight has
// Sluice's layout: an engine that needs a different one copies the weight to the workspace. cuDNN derives the groups
// from the numbers of channels.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/ConvolutionShape.h"
#include "runtime/kernel/cuda/DnnKernels.h"

namespace sluice::cuda {

DnnTensor dnnImage(DnnGraph &graph, int place, const Operand &o) {
  return graph.memory(place, *dnnType(o.dtype), {o.extent[0], o.extent[3], o.extent[1], o.extent[2]},
                      {o.strides[0], o.strides[3], o.strides[1], o.strides[2]});
}

namespace {

DnnTensor weightOf(DnnGraph &graph, int place, const Operand &o) {
  return graph.memory(place, *dnnType(o.dtype), {o.extent[0], o.extent[1], o.extent[2], o.extent[3]},
                      {o.strides[0], o.strides[1], o.strides[2], o.strides[3]});
}

Result<DnnWindow> windowOf(const KernelRequest &request, const Operand &x, const Operand &weight, const Operand &y) {
  SLUICE_ASSIGN_OR_RETURN(const cpu::ConvolutionShape s, cpu::ConvolutionShape::of(request, x, weight, y));
  return DnnWindow{s.kernel, s.stride, s.padding, s.padding, s.dilation};
}

} // namespace

/// A bias is added before the result is rounded.
Status dnnConvolution(const KernelRequest &request, DnnGraph &graph) {
  const auto &in = request.inputs;
  const Operand &y = request.outputs[0];
  SLUICE_ASSIGN_OR_RETURN(const DnnWindow window, windowOf(request, in[0], in[1], y));
  const bool hasBias = in.size() == 3;
  const DnnTensor x = dnnImage(graph, 0, in[0]), weight = weightOf(graph, 1, in[1]),
                  result = dnnImage(graph, hasBias ? 3 : 2, y);
  const bool wide = in[0].dtype == DType::f64;
  if (!hasBias) {
    graph.convolve(dnn::convolutionForward, window, x, weight, result, wide);
    return {};
  }
  const std::int64_t channels = y.extent[3];
  const DnnTensor bias = graph.memory(2, *dnnType(in[2].dtype), {1, channels, 1, 1},
                                      {channels * in[2].strides[0], in[2].strides[0], channels, channels});
  const int type = wide ? dnn::f64 : dnn::f32;
  const std::int64_t row = y.extent[2] * channels;
  const DnnTensor plain =
      graph.between(type, {y.extent[0], channels, y.extent[1], y.extent[2]}, {y.extent[1] * row, 1, row, channels});
  graph.convolve(dnn::convolutionForward, window, x, weight, plain, wide);
  graph.pointwise(dnn::add, type, plain, &bias, nullptr, result);
  return {};
}

Status dnnConvolutionInputGrad(const KernelRequest &request, DnnGraph &graph) {
  const Operand &dy = request.inputs[0], &weight = request.inputs[1], &dx = request.outputs[0];
  SLUICE_ASSIGN_OR_RETURN(const DnnWindow window, windowOf(request, dx, weight, dy));
  const DnnTensor y = dnnImage(graph, 0, dy), w = weightOf(graph, 1, weight), x = dnnImage(graph, 2, dx);
  graph.convolve(dnn::convolutionInputGrad, window, x, w, y, dy.dtype == DType::f64);
  return {};
}

Status dnnConvolutionWeightGrad(const KernelRequest &request, DnnGraph &graph) {
  const Operand &dy = request.inputs[0], &x = request.inputs[1], &dweight = request.outputs[0];
  SLUICE_ASSIGN_OR_RETURN(const DnnWindow window, windowOf(request, x, dweight, dy));
  const DnnTensor y = dnnImage(graph, 0, dy), image = dnnImage(graph, 1, x), w = weightOf(graph, 2, dweight);
  graph.convolve(dnn::convolutionWeightGrad, window, image, w, y, dy.dtype == DType::f64);
  return {};
}

} // namespace sluice::cuda
