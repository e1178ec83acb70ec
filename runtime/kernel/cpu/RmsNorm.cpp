//===- RmsNorm.cpp - the norm by the root of the mean square, by rows ----------===//
//
// The gradient of the weight is a sum over rows: as in LayerNorm.cpp, a fixed number of runs, each summed in order, then
// the runs in order.
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
  double epsilon = numberAttribute(request, "epsilon", 1e-6);
  return makeKernel(request, [&l = loops().of<T>(), epsilon](Call &call) {
    Rows x(call.inputs[0]), y(call.outputs[0]);
    const T *weight = call.inputs[1].as<T>();
    if (x.columns)
      forEach(call.threads, x.rows, [&](std::int64_t row) {
        l.rmsNormRow(x.at<T>(row), weight, y.at<T>(row), statistic(call.outputs[1], row), x.columns, epsilon);
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
      float *dweight = sums + r * columns;
      std::memset(dweight, 0, static_cast<std::size_t>(columns) * sizeof(float));
      for (std::int64_t row = r * run; row < std::min(x.rows, (r + 1) * run); ++row)
        l.rmsNormGradRow(dy.at<T>(row), x.at<T>(row), weight, *statistic(call.inputs[3], row), dx.at<T>(row), dweight,
                         columns);
    });
    for (std::int64_t r = 1; r < layerNormRuns; ++r)
      loops().f32.addTo(sums + r * columns, sums, columns);
    l.orderPairs(sums, columns);
    for (std::int64_t c = 0; c < columns; ++c)
      store(call.outputs[1], c * call.outputs[1].strides[0], sums[c]);
    return Status::ok();
  });
}

Bound forward(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto plain, reference::rms_norm(request));
  DType type = request.inputs[0].dtype;
  if (!allContiguousRows(request) || !allOf(DType::f32, request.outputs[1]) || !hasLoops(type) ||
      !allOf(type, request.inputs[1], request.outputs[0]))
    return plain;
  return withLoops(type, [&]<typename T>() { return forwardOf<T>(request); });
}

Bound backward(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto plain, reference::rms_norm_grad(request));
  const Operand &dy = request.inputs[0], &x = request.inputs[1], &weight = request.inputs[2];
  if (allContiguousRows(request) && allOf(DType::f32, request.inputs[3])) {
    Check check("rms_norm_grad", request);
    SLUICE_RETURN_IF_ERROR(check.workspace(rmsNormGradWorkspace(x.extent[x.rank - 1])));
    if (hasLoops(x.dtype) && allOf(x.dtype, dy, weight, request.outputs[0]))
      return withLoops(x.dtype, [&]<typename T>() { return backwardOf<T>(request); });
  }
  return plain;
}

constexpr FastKernel kernels[] = {{"rms_norm", forward}, {"rms_norm_grad", backward}};

} // namespace

FastKernels rmsNormKernels() { return kernels; }

} // namespace sluice::cpu
