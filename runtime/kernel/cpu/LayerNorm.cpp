//===- LayerNorm.cpp - layer norm by rows -------------------------------------===//
//
// The gradients of weight and bias are sums over rows: rows are cut in a fixed number of runs, each run is summed in
// order into its own pair of vectors in workspace, and these are added in order. The order of addition is a function of
// the number of rows alone.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/Registry.h"
#include "runtime/kernel/cpu/Workspace.h"
#include "runtime/kernel/cpu/reference/References.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <cstring>

namespace sluice::cpu {
namespace {

float *statistic(const Operand &o, std::int64_t row) { return o.as<float>() + offsetOf(o, 0, o.rank, row); }

template <typename T> Bound forwardOf(const KernelRequest &request) {
  double epsilon = numberAttribute(request, "epsilon", 1e-5);
  return makeKernel(request, [&l = loops().of<T>(), epsilon](Call &call) {
    Rows x(call.inputs[0]), y(call.outputs[0]);
    const T *weight = call.inputs[1].as<T>(), *bias = call.inputs[2].as<T>();
    if (x.columns)
      forEach(call.threads, x.rows, [&](std::int64_t row) {
        l.layerNormRow(x.at<T>(row), weight, bias, y.at<T>(row), statistic(call.outputs[1], row),
                       statistic(call.outputs[2], row), x.columns, epsilon);
      });
    return Status::ok();
  });
}

template <typename T> Bound backwardOf(const KernelRequest &request) {
  return makeKernel(request, [&l = loops().of<T>()](Call &call) {
    Rows dy(call.inputs[0]), x(call.inputs[1]), dx(call.outputs[0]);
    const T *weight = call.inputs[2].as<T>();
    std::int64_t columns = x.columns, run = (x.rows + layerNormRuns - 1) / layerNormRuns;
    float *sums = static_cast<float *>(call.workspace);
    if (columns == 0)
      return Status::ok();
    forEach(call.threads, layerNormRuns, [&](std::int64_t r) {
      float *dweight = sums + r * 2 * columns, *dbias = dweight + columns;
      std::memset(dweight, 0, 2 * columns * sizeof(float));
      for (std::int64_t row = r * run; row < std::min(x.rows, (r + 1) * run); ++row)
        l.layerNormGradRow(dy.at<T>(row), x.at<T>(row), weight, *statistic(call.inputs[3], row),
                           *statistic(call.inputs[4], row), dx.at<T>(row), dweight, dbias, columns);
    });
    for (std::int64_t r = 1; r < layerNormRuns; ++r)
      loops().f32.addTo(sums + r * 2 * columns, sums, 2 * columns);
    l.orderPairs(sums, columns);
    l.orderPairs(sums + columns, columns);
    for (int i : {1, 2})
      for (std::int64_t c = 0; c < columns; ++c)
        store(call.outputs[i], c * call.outputs[i].strides[0], sums[(i - 1) * columns + c]);
    return Status::ok();
  });
}

Bound forward(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto plain, reference::layer_norm(request));
  const Operand &x = request.inputs[0], &weight = request.inputs[1], &bias = request.inputs[2];
  if (!allContiguousRows(request) || !allOf(DType::f32, request.outputs[1], request.outputs[2]) ||
      !hasLoops(x.dtype) || !allOf(x.dtype, weight, bias, request.outputs[0]))
    return plain;
  return withLoops(x.dtype, [&]<typename T>() { return forwardOf<T>(request); });
}

Bound backward(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto plain, reference::layer_norm_grad(request));
  const Operand &dy = request.inputs[0], &x = request.inputs[1], &weight = request.inputs[2];
  if (allContiguousRows(request) && allOf(DType::f32, request.inputs[3], request.inputs[4])) {
    Check check("layer_norm_grad", request);
    SLUICE_RETURN_IF_ERROR(check.workspace(layerNormGradWorkspace(x.extent[x.rank - 1])));
    if (hasLoops(x.dtype) && allOf(x.dtype, dy, weight, request.outputs[0]))
      return withLoops(x.dtype, [&]<typename T>() { return backwardOf<T>(request); });
  }
  return plain;
}

constexpr FastKernel kernels[] = {{"layer_norm", forward}, {"layer_norm_grad", backward}};

} // namespace

FastKernels layerNormKernels() { return kernels; }

} // namespace sluice::cpu
