//===- Norms.cpp - layer norm and rms norm by rows -----------------------------===//
//
// The gradients of the vectors are sums over rows: rows are divided into a fixed number of runs, each run is summed in
// order into vectors in workspace, and these are added in order. The order of addition depends only on the number of
// rows.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/CpuWorkspace.h"
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <cstring>

namespace sluice::cpu {
namespace {

float *rowStatistic(const Operand &o, std::int64_t row) { return o.as<float>() + offsetOf(o, 0, o.rank, row); }

/// Layer norm if `centred`: (x, weight, bias) -> (y, mean, rstd). Else rms norm: (x, weight) -> (y, rstd).
template <bool centred, typename T> Bound forwardOf(const KernelRequest &request) {
  double epsilon = request.attributes->number("epsilon");
  return makeKernel(request, [&l = loops().of<T>(), epsilon](Call &call) {
    Rows x(call.inputs[0]), y(call.outputs[0]);
    if (x.columns == 0)
      return Status::ok();
    forEach(call.threads, x.rows, [&](std::int64_t row) {
      const T *weight = call.inputs[1].as<T>();
      float *statistic = rowStatistic(call.outputs[1], row);
      if constexpr (centred)
        l.layerNormRow(x.at<T>(row), weight, call.inputs[2].as<T>(), y.at<T>(row), statistic,
                       rowStatistic(call.outputs[2], row), x.columns, epsilon);
      else
        l.rmsNormRow(x.at<T>(row), weight, y.at<T>(row), statistic, x.columns, epsilon);
    });
    return Status::ok();
  });
}

/// Statistics of a norm.
template <bool centred> constexpr std::size_t statisticsCount = centred ? 2 : 1;

/// (dy, x, weight, statistics... (, addend)) -> (dx, gradients of the vectors... (, sums of dx over rows))
template <bool centred, typename T> Bound backwardOf(const KernelRequest &request) {
  return makeKernel(request, [&l = loops().of<T>(), adds = request.adds](Call &call) {
    Rows dy(call.inputs[0]), x(call.inputs[1]), dx(call.outputs[0]);
    const std::size_t optional = 3 + statisticsCount<centred>;
    const bool hasAddend = call.inputs.size() > optional;
    const Rows addend(call.inputs[hasAddend ? optional : 0]);
    std::int64_t columns = x.columns, vectors = std::ssize(call.outputs) - 1, each = vectors * columns;
    std::int64_t run = (x.rows + normRuns - 1) / normRuns;
    constexpr std::int64_t ofNorm = centred ? 2 : 1;
    float *sums = static_cast<float *>(call.workspace);
    if (columns == 0)
      return Status::ok();
    forEach(call.threads, normRuns, [&](std::int64_t r) {
      const T *weight = call.inputs[2].as<T>();
      float *dweight = sums + r * each;
      std::memset(dweight, 0, static_cast<std::size_t>(each) * sizeof(float));
      for (std::int64_t row = r * run; row < std::min(x.rows, (r + 1) * run); ++row) {
        float statistic = *rowStatistic(call.inputs[3], row);
        const T *added = hasAddend ? addend.at<T>(row) : nullptr;
        if constexpr (centred)
          l.layerNormGradRow(dy.at<T>(row), x.at<T>(row), weight, statistic, *rowStatistic(call.inputs[4], row), added,
                             dx.at<T>(row), dweight, dweight + columns, columns);
        else
          l.rmsNormGradRow(dy.at<T>(row), x.at<T>(row), weight, statistic, added, dx.at<T>(row), dweight, columns);
        if (vectors > ofNorm)
          l.addTo(dx.at<T>(row), dweight + ofNorm * columns, columns);
      }
    });
    for (std::int64_t r = 1; r < normRuns; ++r)
      loops().f32.addTo(sums + r * each, sums, each);
    for (std::int64_t v = 0; v < vectors; ++v) {
      float *sum = sums + v * columns;
      const Operand &gradient = call.outputs[static_cast<std::size_t>(1 + v)];
      if (v < ofNorm)
        l.orderPairs(sum, columns);
      for (std::int64_t c = 0; c < columns; ++c)
        storeResult(gradient, c * gradient.strides[0], sum[c], adds[static_cast<std::size_t>(1 + v)]);
    }
    return Status::ok();
  });
}

template <bool centred> Bound forward(const KernelRequest &request) {
  const DType type = request.inputs[0].dtype;
  if (!hasLoops(type) || !allContiguousRows(request) || !haveType(type, request.inputs) ||
      request.outputs[0].dtype != type || !haveType(DType::f32, request.outputs.subspan(1)))
    return useReference();
  return withLoops(type, [&]<typename T>() { return forwardOf<centred, T>(request); });
}

template <bool centred> Bound backward(const KernelRequest &request) {
  const Operand &dy = request.inputs[0], &x = request.inputs[1], &weight = request.inputs[2];
  const std::span<const Operand> addend = request.inputs.subspan(3 + statisticsCount<centred>);
  if (!allContiguousRows(request) || !haveType(DType::f32, request.inputs.subspan(3, statisticsCount<centred>)))
    return useReference();
  SLUICE_RETURN_IF_ERROR(Check(request).workspace(normGradWorkspace(request.outputs.size() - 1, x.extent[x.rank - 1])));
  if (!hasLoops(x.dtype) || !allOf(x.dtype, dy, weight, request.outputs[0]) || !haveType(x.dtype, addend))
    return useReference();
  return withLoops(x.dtype, [&]<typename T>() { return backwardOf<centred, T>(request); });
}

} // namespace

Bound fast::layer_norm(const KernelRequest &request) { return forward<true>(request); }
Bound fast::layer_norm_grad(const KernelRequest &request) { return backward<true>(request); }
Bound fast::layer_norm_grad_and_sum(const KernelRequest &request) { return backward<true>(request); }
Bound fast::rms_norm(const KernelRequest &request) { return forward<false>(request); }
Bound fast::rms_norm_grad(const KernelRequest &request) { return backward<false>(request); }

} // namespace sluice::cpu
