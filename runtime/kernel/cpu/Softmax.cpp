//===- Softmax.cpp - softmax and the logarithm of its sum, by rows ------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/OneType.h"

namespace sluice::cpu {

Bound fast::logsumexp(const KernelRequest &request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (!contiguousRows(x) || x.extent[x.rank - 1] == 0 || !hasLoops(x.dtype) || x.dtype != y.dtype)
    return useReference();
  return withLoops(x.dtype, [&]<typename T>() {
    return makeKernel(request, [&l = loops().of<T>()](Call &call) {
      Rows x(call.inputs[0]);
      const Operand &y = call.outputs[0];
      forEach(call.threads, x.rows, [&](std::int64_t row) { storeAt(y, row, l.logSumRow(x.at<T>(row), x.columns)); });
      return Status::ok();
    });
  });
}

Bound fast::softmax(const KernelRequest &request) {
  return ofOneType(request, [&]<typename T>() {
    return makeKernel(request, [&l = loops().of<T>()](Call &call) {
      Rows x(call.inputs[0]), y(call.outputs[0]);
      forEach(call.threads, x.rows, [&](std::int64_t row) { l.softmaxRow(x.at<T>(row), y.at<T>(row), x.columns); });
      return Status::ok();
    });
  });
}
Bound fast::softmax_grad(const KernelRequest &request) {
  return ofOneType(request, [&]<typename T>() {
    return makeKernel(request, [&l = loops().of<T>()](Call &call) {
      Rows dy(call.inputs[0]), y(call.inputs[1]), dx(call.outputs[0]);
      forEach(call.threads, y.rows,
              [&](std::int64_t row) { l.softmaxGradRow(dy.at<T>(row), y.at<T>(row), dx.at<T>(row), y.columns); });
      return Status::ok();
    });
  });
}

} // namespace sluice::cpu
