//===- DnnAttention.cpp - attention with cuDNN ---------------------------------------------===//
//
// The graphs that cuDNN recognises as flash attention: scores, mask, the parts of a softmax, the product with the
// values; and the gradient, which computes the scores again. Intermediate tensors are not in memory. The second result
// is the logarithm of the sum of exponentials of each row, as in Sluice's kernel. Dims are batch, heads, queries or
// keys, elements; a group of query heads reads one key head.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/DnnAttention.h"
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

/// The same, not transposed, as a result of reshape().
DnnTensor headsBetween(DnnGraph &graph, const Operand &o) {
  return graph.between(*dnnType(o.dtype), {o.extent[0], o.extent[2], o.extent[1], o.extent[3]},
                       {o.strides[0], o.strides[2], o.strides[1], o.strides[3]});
}

/// mode(x, b) in f32.
DnnTensor pointwise(DnnGraph &graph, dnn::PointwiseMode mode, const DnnTensor &x, const DnnTensor *b,
                    const DnnDims &extent) {
  const DnnTensor result = graph.between(dnn::f32, extent);
  graph.pointwise(mode, dnn::f32, x, b, nullptr, result);
  return result;
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
  const std::string problem = dnnAttentionProblem(request.inputs, request.outputs);
  return problem.empty() ? Status() : refusedError(problem);
}

Status checkDnnAttentionGrad(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkDnnAttention(request));
  const std::int64_t batch = request.inputs[0].extent[0], rows = request.attributes->integer("rows");
  if (rows != 0 && !canDivideDnnAttentionGrad(request.inputs[0], rows))
    return refusedError("rows at a time, expected a divisor of " + std::to_string(batch) + " but got " +
                        std::to_string(rows));
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
    return pointwise(graph, mode, x, b, extent);
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

/// With p = exp(scale q k^T - lse) and ds = p (dout v^T - sum(dout out)) scale: dv = p^T dout, dk = ds^T q, dq = ds k.
Status dnnAttentionGrad(const KernelRequest &request, DnnGraph &graph) {
  SLUICE_ASSIGN_OR_RETURN(cpu::AttentionShape s, cpu::AttentionShape::ofGradient(request));
  std::vector<Operand> in(request.inputs.begin(), request.inputs.end()),
      results(request.outputs.begin(), request.outputs.end());
  if (const std::int64_t rows = request.attributes->integer("rows"); rows > 0) {
    std::vector<std::int64_t> bytes;
    for (std::vector<Operand> *operands : {&in, &results})
      for (Operand &operand : *operands) {
        operand.extent[0] = rows;
        bytes.push_back(rows * operand.strides[0] * static_cast<std::int64_t>(dtypeBytes(operand.dtype)));
      }
    graph.repeat(s.batch / rows, std::move(bytes));
    s.batch = rows;
  }
  const Operand &lse = in[5];
  const int element = *dnnType(in[0].dtype);
  const DnnTensor dout = headsOf(graph, 0, in[0]), q = headsOf(graph, 1, in[1]), k = headsOf(graph, 2, in[2], true),
                  v = headsOf(graph, 3, in[3], true), out = headsOf(graph, 4, in[4]);
  const DnnTensor statistics = graph.memory(5, dnn::f32, {s.batch, s.heads, s.queries, 1},
                                            {lse.strides[0], lse.strides[1], lse.strides[2], lse.strides[2]});
  const DnnTensor dq = headsOf(graph, 6, results[0]), dk = headsOf(graph, 7, results[1]),
                  dv = headsOf(graph, 8, results[2]);
  const DnnDims all = {s.batch, s.heads, s.queries, s.keys}, one = {s.batch, s.heads, s.queries, 1};
  const auto step = [&](dnn::PointwiseMode mode, const DnnTensor &x, const DnnTensor *b, const DnnDims &extent) {
    return pointwise(graph, mode, x, b, extent);
  };
  /// [.., queries, keys] as [.., keys, queries], in the operands' type.
  const auto transposed = [&](const DnnTensor &x) {
    const DnnTensor result = graph.between(element, {s.batch, s.heads, s.keys, s.queries},
                                           {s.heads * s.queries * s.keys, s.queries * s.keys, 1, s.keys});
    graph.reshape(x, result);
    return result;
  };
  /// The gradient of k or v: the sum over the heads that share it.
  const auto sumOfShared = [&](const DnnTensor &left, const DnnTensor &right, const DnnTensor &gradient) {
    if (s.heads == s.keyHeads)
      return graph.multiply(left, right, gradient);
    const DnnTensor perHead = graph.between(element, {s.batch, s.heads, s.keys, s.size});
    graph.multiply(left, right, perHead);
    graph.reduce(dnn::reduceAdd, perHead, gradient);
  };
  const DnnTensor unit = graph.constant(1.0F), scale = graph.constant(static_cast<float>(s.scale));
  const DnnTensor terms = step(dnn::multiply, dout, &out, dout.extent);
  const DnnTensor sums = graph.between(dnn::f32, one), delta = graph.scratch(one);
  graph.reduce(dnn::reduceAdd, terms, sums);
  graph.pointwise(dnn::multiply, dnn::f32, sums, &unit, nullptr, delta);

  const DnnTensor raw = graph.between(dnn::f32, all);
  graph.multiply(q, k, raw);
  const DnnTensor logarithms = step(dnn::subtract, step(dnn::multiply, raw, &scale, all), &statistics, all);
  const DnnTensor p = step(dnn::exponential, masked(graph, s, logarithms), nullptr, all);
  sumOfShared(transposed(p), dout, dv);

  const DnnTensor dp = graph.between(dnn::f32, all);
  graph.multiply(dout, v, dp);
  const DnnTensor ds =
      step(dnn::multiply, step(dnn::multiply, step(dnn::subtract, dp, &delta, all), &p, all), &scale, all);
  sumOfShared(transposed(ds), q, dk);

  const DnnTensor rows = headsBetween(graph, in[2]);
  graph.reshape(k, rows);
  graph.multiply(ds, rows, dq);
  return {};
}

} // namespace sluice::cuda
