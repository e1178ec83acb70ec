//===- Softmax.cpp - softmax by rows ------------------------------------------===//
#include "runtime/kernel/cpu/FastKernels.h"
#include "runtime/kernel/cpu/OneType.h"
#include "runtime/kernel/cpu/reference/References.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {
namespace {

struct Softmax {
  static constexpr PrepareFunction plain = reference::softmax;
  template <typename T> static Bound of(const KernelRequest &request) {
    return makeKernel(request, [&l = loops().of<T>()](Call &call) {
      Rows x(call.inputs[0]), y(call.outputs[0]);
      forEach(call.threads, x.rows, [&](std::int64_t row) { l.softmaxRow(x.at<T>(row), y.at<T>(row), x.columns); });
      return Status::ok();
    });
  }
};

struct SoftmaxGrad {
  static constexpr PrepareFunction plain = reference::softmax_grad;
  template <typename T> static Bound of(const KernelRequest &request) {
    return makeKernel(request, [&l = loops().of<T>()](Call &call) {
      Rows dy(call.inputs[0]), y(call.inputs[1]), dx(call.outputs[0]);
      forEach(call.threads, y.rows,
              [&](std::int64_t row) { l.softmaxGradRow(dy.at<T>(row), y.at<T>(row), dx.at<T>(row), y.columns); });
      return Status::ok();
    });
  }
};

} // namespace

Bound fast::softmax(const KernelRequest &request) { return ofOneType<Softmax>(request); }
Bound fast::softmax_grad(const KernelRequest &request) { return ofOneType<SoftmaxGrad>(request); }

} // namespace sluice::cpu
