//===- TrainingStep.cpp - accumulation, norms and clipping of a training step ------===//
#include "runtime/kernel/cpu/CpuKernels.h"

#include <cmath>

namespace sluice::cpu::reference {

/// One number from one number.
template <typename Op> static Bound ofScalar(const KernelRequest &request, Op op) {
  return makeKernel(request, [op](Call &call) {
    store(call.outputs[0], 0, op(load(call.inputs[0], 0)));
    return Status::ok();
  });
}

Bound accumulate(const KernelRequest &request) {
  bool first = request.attributes->integer("first") != 0;
  return makeKernel(request, [first](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    walk<2>(y.rank, y.extent, {x.strides, y.strides},
            [&](auto &at) { store(y, at[1], load(x, at[0]) + (first ? 0 : load(y, at[1]))); });
    return Status::ok();
  });
}

Bound power_sum(const KernelRequest &request) {
  double p = request.attributes->number("p");
  if (!(p > 0))
    return Check(request).refuse("p, expected a positive number but got ", p);
  return makeKernel(request, [p](Call &call) {
    double sum = 0;
    for (const Operand &x : call.inputs)
      walk<1>(x.rank, x.extent, {x.strides}, [&](auto &at) {
        double size = std::fabs(load(x, at[0]));
        if (std::isinf(p))
          sum = sum != sum || sum > size ? sum : size;
        else
          sum += p == 2 ? size * size : p == 1 ? size : std::pow(size, p);
      });
    store(call.outputs[0], 0, sum);
    return Status::ok();
  });
}

Bound norm_root(const KernelRequest &request) {
  return ofScalar(request, [p = request.attributes->number("p")](double sum) {
    return std::isinf(p) || p == 1 ? sum : p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
  });
}

Bound clip_coefficient(const KernelRequest &request) {
  return ofScalar(request, [maxNorm = request.attributes->number("max_norm")](double norm) {
    double coefficient = maxNorm / (norm + 1e-6);
    // Written so that NaN stays NaN.
    return coefficient > 1 ? 1 : coefficient;
  });
}

Bound all_finite(const KernelRequest &request) {
  return makeKernel(request, [](Call &call) {
    bool finite = true;
    for (const Operand &x : call.inputs)
      walk<1>(x.rank, x.extent, {x.strides}, [&](auto &at) { finite = finite && std::isfinite(load(x, at[0])); });
    call.outputs[0].as<std::uint8_t>()[0] = finite;
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
