//===- Norms.cpp - norms over the last dim, with a mean or without -------------===//
//
//   y = h weight (+ bias),   h = (x - mean) rstd,   rstd = 1 / sqrt(mean((x - mean)^2) + epsilon)
//   with g = dy weight:   dx = rstd (g - mean(g) - h mean(g h)) (+ addend),   dweight = sum dy h,   dbias = sum dy
//
// A norm without a mean (rms_norm) has no mean, mean(g), bias and dbias: they are 0 and omitted.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"

#include <cmath>

namespace sluice::cpu::reference {
namespace {

/// (x, weight (, bias)) -> (y (, means), rstds)
template <bool centred> Bound norm(const KernelRequest &request) {
  double epsilon = request.attributes->number("epsilon");
  return makeKernel(request, [epsilon](Call &call) {
    Rows x(call.inputs[0]), y(call.outputs[0]);
    const Operand &weight = call.inputs[1], &rstds = call.outputs.back();
    for (std::int64_t row = 0; row < x.rows && x.columns; ++row) {
      auto columns = static_cast<double>(x.columns);
      double mean = 0, squares = 0;
      for (std::int64_t c = 0; centred && c < x.columns; ++c)
        mean += x.load(row, c);
      mean /= columns;
      for (std::int64_t c = 0; c < x.columns; ++c) {
        double difference = x.load(row, c) - mean;
        squares += difference * difference;
      }
      double rstd = 1 / std::sqrt(squares / columns + epsilon);
      for (std::int64_t c = 0; c < x.columns; ++c) {
        double value = (x.load(row, c) - mean) * rstd * load(weight, c * weight.strides[0]);
        if constexpr (centred)
          value += load(call.inputs[2], c * call.inputs[2].strides[0]);
        y.store(row, c, value);
      }
      if constexpr (centred)
        storeAt(call.outputs[1], row, mean);
      storeAt(rstds, row, rstd);
    }
    return Status::ok();
  });
}

/// (dy, x, weight (, means), rstds (, addend)) -> (dx, dweight (, dbias (, sums of dx over rows)))
template <bool centred> Bound normGrad(const KernelRequest &request) {
  constexpr std::size_t optional = centred ? 5 : 4;
  return makeKernel(request, [adds = request.adds](Call &call) {
    Rows dy(call.inputs[0]), x(call.inputs[1]), dx(call.outputs[0]);
    const Operand &weight = call.inputs[2], &rstds = call.inputs[optional - 1], &dweight = call.outputs[1];
    const bool hasAddend = call.inputs.size() > optional;
    const Rows addend(call.inputs[hasAddend ? optional : 0]);
    auto meanOf = [&](std::int64_t row) { return centred ? loadAt(call.inputs[3], row) : 0; };
    auto rstdOf = [&](std::int64_t row) { return loadAt(rstds, row); };
    // Computes the vectors first, because dx may have the memory of dy.
    for (std::int64_t c = 0; c < x.columns; ++c) {
      double ofWeight = 0, ofBias = 0;
      for (std::int64_t row = 0; row < x.rows; ++row) {
        double g = dy.load(row, c);
        ofBias += g;
        ofWeight += g * (x.load(row, c) - meanOf(row)) * rstdOf(row);
      }
      storeResult(dweight, c * dweight.strides[0], ofWeight, adds[1]);
      if constexpr (centred)
        storeResult(call.outputs[2], c * call.outputs[2].strides[0], ofBias, adds[2]);
    }
    for (std::int64_t row = 0; row < x.rows && x.columns; ++row) {
      double mean = meanOf(row), rstd = rstdOf(row), sum = 0, dot = 0;
      auto columns = static_cast<double>(x.columns);
      for (std::int64_t c = 0; c < x.columns; ++c) {
        double g = dy.load(row, c) * load(weight, c * weight.strides[0]);
        sum += centred ? g : 0;
        dot += g * (x.load(row, c) - mean) * rstd;
      }
      for (std::int64_t c = 0; c < x.columns; ++c) {
        double g = dy.load(row, c) * load(weight, c * weight.strides[0]);
        double h = (x.load(row, c) - mean) * rstd;
        dx.store(row, c, rstd * (g - sum / columns - h * dot / columns) + (hasAddend ? addend.load(row, c) : 0));
      }
    }
    for (std::int64_t c = 0; call.outputs.size() > 3 && c < x.columns; ++c) {
      double sum = 0;
      for (std::int64_t row = 0; row < x.rows; ++row)
        sum += dx.load(row, c);
      storeResult(call.outputs[3], c * call.outputs[3].strides[0], sum, adds[3]);
    }
    return Status::ok();
  });
}

} // namespace

Bound layer_norm(const KernelRequest &request) { return norm<true>(request); }
Bound layer_norm_grad(const KernelRequest &request) { return normGrad<true>(request); }
Bound layer_norm_grad_and_sum(const KernelRequest &request) { return normGrad<true>(request); }
Bound rms_norm(const KernelRequest &request) { return norm<false>(request); }
Bound rms_norm_grad(const KernelRequest &request) { return normGrad<false>(request); }

} // namespace sluice::cpu::reference
