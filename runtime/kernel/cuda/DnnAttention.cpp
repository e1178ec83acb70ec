//===- DnnAttention.cpp - attention with cuDNN ---------------------------------------------===//
//
// The graph that cuDNN recognises as flash attention: scores, mask, the parts of a softmax, the product with the
// values. Intermediate tensors are not in memory. The second result is the logarithm of the sum of exponentials of each
// row, as in Sluice's kernel. Dims are batch, heads, queries or keys, elements; a group of query heads reads one key
// head.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/AttentionShape.h"
#include "runtime/kernel/cuda/DnnKernels.h"

#include <limits>

namespace sluice::cuda {
namespace {

/// A tensor [batch, rows, heads, elements]; `transposed` exchanges the last two of cuDNN's dims.
DnnTensor headsOf(DnnGraph &graph, int place, const Operand &o, bool transposed = false) {
  DnnDims extent = {o.extent[0], o.extent[2], o.extent[1], o.extent[3]},
          strides = {o.strides[0], o.strides[2], o.strides[1], o.strides[3]};
  if (transposed) {
    std::swap(extent[2], extent[3]);
    std::swap(strides[2], strides[3]);
  }
  return graph.memory(place, *dnnType(o.dtype), std::move(extent), std::move(strides));
}

/// Replaces scores of keys that a query does not read by the least number.
DnnTensor masked(DnnGraph &graph, const cpu::AttentionShape &s, const DnnTensor &scores) {
  if (!s.causal)
    return scores;
  const std::int64_t ahead = s.keys - s.queries;
  const DnnTensor least = graph.constant(std::numeric_limits<float>::lowest());
  const auto between = [&](int type) { return graph.between(type, scores.extent); };
  const auto selected = [&](const DnnTensor &from, const DnnTensor &seen) {
    const DnnTensor result = between(dnn::f32);
    graph.pointwise(dnn::select, dnn::f32, from, &least, &seen, result);
    return result;
  };
  // Row t reads column j where t + ahead >= j ...
  DnnTensor row = between(dnn::i32);
  graph.pointwise(dnn::index, dnn::i32, scores, nullptr, nullptr, row, 2);
  if (ahead != 0) {
    const DnnTensor keys = graph.constant(static_cast<std::int32_t>(s.keys)),
                    queries = graph.constant(static_cast<std::int32_t>(s.queries));
    const DnnTensor longer = between(dnn::i32), moved = between(dnn::i32);
    graph.pointwise(dnn::add, dnn::i32, row, &keys, nullptr, longer);
    graph.pointwise(dnn::subtract, dnn::i32, longer, &queries, nullptr, moved);
    row = moved;
  }
  const DnnTensor column = between(dnn::i32), seen = between(dnn::boolean);
  graph.pointwise(dnn::index, dnn::i32, scores, nullptr, nullptr, column, 3);
  graph.pointwise(dnn::atLeast, dnn::boolean, row, &column, nullptr, seen);
  DnnTensor result = selected(scores, seen);
  if (s.window >= s.keys)
    return result;
  // ... and, under a window, j + window > t + ahead.
  const DnnTensor window = graph.constant(static_cast<std::int32_t>(s.window - ahead));
  const DnnTensor ownRow = between(dnn::i32), ownColumn = between(dnn::i32), reach = between(dnn::i32),
                  near = between(dnn::boolean);
  graph.pointwise(dnn::index, dnn::i32, result, nullptr, nullptr, ownRow, 2);
  graph.pointwise(dnn::index, dnn::i32, result, nullptr, nullptr, ownColumn, 3);
  graph.pointwise(dnn::add, dnn::i32, ownColumn, &window, nullptr, reach, 3);
  graph.pointwise(dnn::greater, dnn::boolean, reach, &ownRow, nullptr, near);
  return selected(result, near);
}

} // namespace

Status checkDnnAttention(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(const cpu::AttentionShape s, cpu::AttentionShape::ofForward(request));
  const auto &in = request.inputs;
  const Operand &out = request.outputs[0], &lse = request.outputs[1];
  const DType type = in[0].dtype;
  if ((type != DType::bf16 && type != DType::f16) || in[1].dtype != type || in[2].dtype != type || out.dtype != type ||
      lse.dtype != DType::f32)
    return refusedError("element types of attention, expected bf16 or f16 throughout and statistics in f32");
  if (s.size % 8 != 0 || s.size > 128)
    return refusedError("head size, expected a multiple of 8 of at most 128 but got " + std::to_string(s.size));
  if (s.keys > (1 << 30))
    return refusedError("keys, expected at most 2^30 but got " + std::to_string(s.keys));
  return {};
}

Status dnnAttention(const KernelRequest &request, DnnGraph &graph) {
  SLUICE_ASSIGN_OR_RETURN(const cpu::AttentionShape s, cpu::AttentionShape::ofForward(request));
  const auto &in = request.inputs;
  const Operand &out = request.outputs[0], &lse = request.outputs[1];
  const int element = *dnnType(in[0].dtype);
  const DnnTensor q = headsOf(graph, 0, in[0]), k = headsOf(graph, 1, in[1], true), v = headsOf(graph, 2, in[2]),
                  result = headsOf(graph, 3, out);
  const DnnTensor statistics = graph.memory(4, dnn::f32, {s.batch, s.heads, s.queries, 1},
                                            {lse.strides[0], lse.strides[1], lse.strides[2], lse.strides[2]});
  const DnnDims all = {s.batch, s.heads, s.queries, s.keys}, one = {s.batch, s.heads, s.queries, 1};
  const auto step = [&](dnn::PointwiseMode mode, const DnnTensor &x, const DnnTensor *b, const DnnDims &extent) {
    const DnnTensor result = graph.between(dnn::f32, extent);
    graph.pointwise(mode, dnn::f32, x, b, nullptr, result);
    return result;
  };
  const DnnTensor raw = graph.between(dnn::f32, all), scale = graph.constant(static_cast<float>(s.scale));
  graph.multiply(q, k, raw);
  const DnnTensor scores = masked(graph, s, step(dnn::multiply, raw, &scale, all));
  const DnnTensor largest = graph.between(dnn::f32, one), sum = graph.between(dnn::f32, one);
  graph.reduce(dnn::reduceMax, scores, largest);
  const DnnTensor powers = step(dnn::exponential, step(dnn::subtract, scores, &largest, all), nullptr, all);
  graph.reduce(dnn::reduceAdd, powers, sum);
  const DnnTensor logarithm = step(dnn::logarithm, sum, nullptr, one);
  graph.pointwise(dnn::add, dnn::f32, largest, &logarithm, nullptr, statistics);
  const DnnTensor weights = graph.between(element, all);
  graph.pointwise(dnn::divide, dnn::f32, powers, &sum, nullptr, weights);
  graph.multiply(weights, v, result);
  return {};
}

} // namespace sluice::cuda
