//===- RmsNorm.cpp - the norm by the root of the mean square, by rows ----------===//
#include "runtime/kernel/cpu/FastKernels.h"
#include "runtime/kernel/cpu/Norms.h"

namespace sluice::cpu {
namespace {

struct RmsNorm {
  static constexpr std::int64_t vectors = 1;
  static std::uint64_t workspace(std::int64_t columns) { return rmsNormGradWorkspace(columns); }

  template <typename T>
  static void row(const TypedLoops<T> &l, Call &call, std::int64_t row, const T *x, T *y, std::int64_t columns,
                  double epsilon) {
    l.rmsNormRow(x, call.inputs[1].as<T>(), y, rowStatistic(call.outputs[1], row), columns, epsilon);
  }
  template <typename T>
  static void gradRow(const TypedLoops<T> &l, Call &call, std::int64_t row, const T *dy, const T *x, T *dx, float *sums,
                      std::int64_t columns) {
    l.rmsNormGradRow(dy, x, call.inputs[2].as<T>(), *rowStatistic(call.inputs[3], row), dx, sums, columns);
  }
};

} // namespace

Bound fast::rms_norm(const KernelRequest &request) { return NormKernels<RmsNorm>::forward(request); }
Bound fast::rms_norm_grad(const KernelRequest &request) { return NormKernels<RmsNorm>::backward(request); }

} // namespace sluice::cpu
