//===- Softmax.cpp - softmax by rows ------------------------------------------===//
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/Registry.h"
#include "runtime/kernel/cpu/reference/References.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {
namespace {

template <typename T> Bound forwardOf(const KernelRequest &request) {
  return makeKernel(request, [&l = loops().of<T>()](Call &call) {
    Rows x(call.inputs[0]), y(call.outputs[0]);
    forEach(call.threads, x.rows,
            [&](std::int64_t row) { l.softmaxRow(x.at<T>(row), y.at<T>(row), x.columns); });
    return Status::ok();
  });
}

template <typename T> Bound backwardOf(const KernelRequest &request) {
  return makeKernel(request, [&l = loops().of<T>()](Call &call) {
    Rows dy(call.inputs[0]), y(call.inputs[1]), dx(call.outputs[0]);
    forEach(call.threads, y.rows, [&](std::int64_t row) {
      l.softmaxGradRow(dy.at<T>(row), y.at<T>(row), dx.at<T>(row), y.columns);
    });
    return Status::ok();
  });
}

Bound forward(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto plain, reference::softmax(request));
  if (allContiguousRows(request)) {
    if (allOf(DType::f32, request.inputs[0], request.outputs[0]))
      return forwardOf<float>(request);
    if (allOf(DType::bf16, request.inputs[0], request.outputs[0]))
      return forwardOf<Bf16>(request);
  }
  return plain;
}

Bound backward(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto plain, reference::softmax_grad(request));
  if (allContiguousRows(request)) {
    if (allOf(DType::f32, request.inputs[0], request.inputs[1], request.outputs[0]))
      return backwardOf<float>(request);
    if (allOf(DType::bf16, request.inputs[0], request.inputs[1], request.outputs[0]))
      return backwardOf<Bf16>(request);
  }
  return plain;
}

constexpr FastKernel kernels[] = {{"softmax", forward}, {"softmax_grad", backward}};

} // namespace

FastKernels softmaxKernels() { return kernels; }

} // namespace sluice::cpu
