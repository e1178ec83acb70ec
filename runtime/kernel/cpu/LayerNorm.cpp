//===- LayerNorm.cpp - layer norm by rows -------------------------------------===//
#include "runtime/kernel/cpu/FastKernels.h"
#include "runtime/kernel/cpu/Norms.h"

namespace sluice::cpu {
namespace {

struct LayerNorm {
  static constexpr std::int64_t vectors = 2;
  static std::uint64_t workspace(std::int64_t columns) { return layerNormGradWorkspace(columns); }

  template <typename T>
  static void row(const TypedLoops<T> &l, Call &call, std::int64_t row, const T *x, T *y, std::int64_t columns,
                  double epsilon) {
    l.layerNormRow(x, call.inputs[1].as<T>(), call.inputs[2].as<T>(), y, rowStatistic(call.outputs[1], row),
                   rowStatistic(call.outputs[2], row), columns, epsilon);
  }
  template <typename T>
  static void gradRow(const TypedLoops<T> &l, Call &call, std::int64_t row, const T *dy, const T *x, T *dx, float *sums,
                      std::int64_t columns) {
    l.layerNormGradRow(dy, x, call.inputs[2].as<T>(), *rowStatistic(call.inputs[3], row),
                       *rowStatistic(call.inputs[4], row), dx, sums, sums + columns, columns);
  }
};

} // namespace

Bound fast::layer_norm(const KernelRequest &request) { return NormKernels<LayerNorm>::forward(request); }
Bound fast::layer_norm_grad(const KernelRequest &request) { return NormKernels<LayerNorm>::backward(request); }

} // namespace sluice::cpu
