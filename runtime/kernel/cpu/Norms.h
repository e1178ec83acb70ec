//===- Norms.h - common code of the norms over rows ----------------------------===//
//
// The gradients of the vectors are sums over rows: rows are divided into a fixed number of runs, each run is summed in
// order into vectors in workspace, and these are added in order. The order of addition depends only on the number of
// rows.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_NORMS_H
#define SLUICE_RUNTIME_KERNEL_CPU_NORMS_H

#include "runtime/kernel/catalogue/CpuWorkspace.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <cstring>

namespace sluice::cpu {

inline float *rowStatistic(const Operand &o, std::int64_t row) { return o.as<float>() + offsetOf(o, 0, o.rank, row); }

/// `Norm` has the number of its `vectors` (weight, bias), which is also that of its statistics, its workspace, and
/// functions for one row.
///   forward:  (x, vectors...) -> (y, statistics...)
///   backward: (dy, x, weight, statistics...) -> (dx, gradients of the vectors...)
template <typename Norm> struct NormKernels {
  template <typename T> static Bound forwardOf(const KernelRequest &request) {
    double epsilon = request.attributes->number("epsilon");
    return makeKernel(request, [&l = loops().of<T>(), epsilon](Call &call) {
      Rows x(call.inputs[0]), y(call.outputs[0]);
      if (x.columns)
        forEach(call.threads, x.rows,
                [&](std::int64_t row) { Norm::row(l, call, row, x.at<T>(row), y.at<T>(row), x.columns, epsilon); });
      return Status::ok();
    });
  }

  template <typename T> static Bound backwardOf(const KernelRequest &request) {
    return makeKernel(request, [&l = loops().of<T>()](Call &call) {
      Rows dy(call.inputs[0]), x(call.inputs[1]), dx(call.outputs[0]);
      std::int64_t columns = x.columns, each = Norm::vectors * columns;
      std::int64_t run = (x.rows + layerNormRuns - 1) / layerNormRuns;
      float *sums = static_cast<float *>(call.workspace);
      if (columns == 0)
        return Status::ok();
      forEach(call.threads, layerNormRuns, [&](std::int64_t r) {
        std::memset(sums + r * each, 0, static_cast<std::size_t>(each) * sizeof(float));
        for (std::int64_t row = r * run; row < std::min(x.rows, (r + 1) * run); ++row)
          Norm::gradRow(l, call, row, dy.at<T>(row), x.at<T>(row), dx.at<T>(row), sums + r * each, columns);
      });
      for (std::int64_t r = 1; r < layerNormRuns; ++r)
        loops().f32.addTo(sums + r * each, sums, each);
      for (std::int64_t v = 0; v < Norm::vectors; ++v) {
        float *sum = sums + v * columns;
        const Operand &gradient = call.outputs[static_cast<std::size_t>(1 + v)];
        l.orderPairs(sum, columns);
        for (std::int64_t c = 0; c < columns; ++c)
          store(gradient, c * gradient.strides[0], sum[c]);
      }
      return Status::ok();
    });
  }

  static Bound forward(const KernelRequest &request) {
    const DType type = request.inputs[0].dtype;
    if (!hasLoops(type) || !allContiguousRows(request) || !haveType(type, request.inputs) ||
        request.outputs[0].dtype != type || !haveType(DType::f32, request.outputs.subspan(1)))
      return useReference();
    return withLoops(type, [&]<typename T>() { return forwardOf<T>(request); });
  }

  static Bound backward(const KernelRequest &request) {
    const Operand &dy = request.inputs[0], &x = request.inputs[1], &weight = request.inputs[2];
    if (!allContiguousRows(request) || !haveType(DType::f32, request.inputs.subspan(3)))
      return useReference();
    SLUICE_RETURN_IF_ERROR(Check(request).workspace(Norm::workspace(x.extent[x.rank - 1])));
    if (!hasLoops(x.dtype) || !allOf(x.dtype, dy, weight, request.outputs[0]))
      return useReference();
    return withLoops(x.dtype, [&]<typename T>() { return backwardOf<T>(request); });
  }
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_NORMS_H
