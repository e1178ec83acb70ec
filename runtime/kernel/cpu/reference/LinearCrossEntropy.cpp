//===- LinearCrossEntropy.cpp - a projection and its cross entropy, row by row -------===//
//
// One row of logits is in workspace, in double. The gradient of the weight computes each logit again, since a column of
// the weight needs all rows:
//
//   d[n, v] = (exp(logits[n, v] - lse[n]) - share) dloss / count, 0 in ignored rows
//   dx = d weight,   dweight = d^T x
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/CpuWorkspace.h"
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/LinearLossShape.h"
#include "runtime/kernel/cpu/LossAndGradient.h"

#include <cmath>
#include <limits>

namespace sluice::cpu::reference {
namespace {

struct Logits {
  const LinearLossShape &s;
  Rows x, weight;

  double operator()(std::int64_t row, std::int64_t column) const {
    double sum = 0;
    for (std::int64_t c = 0; c < s.columns; ++c)
      sum += x.load(row, c) * weight.load(column, c);
    return sum;
  }
};

} // namespace

Bound linear_cross_entropy(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(
      LinearLossShape shape,
      LinearLossShape::of(request, linearLossOperands(LinearLoss::forward, request.inputs, request.outputs)));
  SLUICE_RETURN_IF_ERROR(Check(request).workspace(plainLinearLossWorkspace(shape.columns, shape.classes)));
  return makeKernel(request, [s = shape](Call &call) {
    const auto o = linearLossOperands(LinearLoss::forward, call.inputs, call.outputs);
    SLUICE_RETURN_IF_ERROR(s.loss.checkTargets(*o.targets));
    Logits logits{s, Rows(*o.x), Rows(*o.weight)};
    double *row = static_cast<double *>(call.workspace), total = 0;
    for (std::int64_t n = 0; n < s.rows; ++n) {
      double largest = -std::numeric_limits<double>::infinity(), sum = 0, all = 0;
      for (std::int64_t v = 0; v < s.classes; ++v)
        largest = std::fmax(largest, row[v] = logits(n, v));
      for (std::int64_t v = 0; v < s.classes; ++v) {
        sum += std::exp(row[v] - largest);
        all += row[v];
      }
      double logSum = largest + std::log(sum);
      storeAt(*o.lse, n, logSum);
      std::int64_t target = integerAt(*o.targets, n);
      if (target == s.loss.ignore)
        continue;
      total += logSum - (1 - s.loss.smoothing) * row[target] - s.loss.smoothing / static_cast<double>(s.classes) * all;
    }
    store(*o.loss, 0, s.loss.mean ? total / static_cast<double>(s.loss.counted(*o.targets)) : total);
    return Status::ok();
  });
}

Bound linear_cross_entropy_grad(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(
      LinearLossShape shape,
      LinearLossShape::of(request, linearLossOperands(LinearLoss::gradient, request.inputs, request.outputs)));
  SLUICE_RETURN_IF_ERROR(Check(request).workspace(plainLinearLossWorkspace(shape.columns, shape.classes)));
  return makeKernel(request, [s = shape](Call &call) {
    const auto o = linearLossOperands(LinearLoss::gradient, call.inputs, call.outputs);
    SLUICE_RETURN_IF_ERROR(s.loss.checkTargets(*o.targets));
    Logits logits{s, Rows(*o.x), Rows(*o.weight)};
    Rows dx(*o.dx), dweight(*o.dweight);
    double factor = load(*o.dloss, 0);
    if (s.loss.mean)
      factor /= static_cast<double>(s.loss.counted(*o.targets));
    auto slope = [&](std::int64_t n, std::int64_t v, std::int64_t target) {
      if (target == s.loss.ignore)
        return 0.0;
      double p = std::exp(logits(n, v) - loadAt(*o.lse, n));
      double share = s.loss.smoothing / static_cast<double>(s.classes) + (v == target ? 1 - s.loss.smoothing : 0);
      return (p - share) * factor;
    };
    double *sums = static_cast<double *>(call.workspace);
    for (std::int64_t n = 0; n < s.rows; ++n) {
      std::int64_t target = integerAt(*o.targets, n);
      for (std::int64_t v = 0; v < s.classes; ++v)
        sums[v] = slope(n, v, target);
      for (std::int64_t c = 0; c < s.columns; ++c) {
        double sum = 0;
        for (std::int64_t v = 0; v < s.classes; ++v)
          sum += sums[v] * logits.weight.load(v, c);
        dx.store(n, c, sum);
      }
    }
    for (std::int64_t v = 0; v < s.classes; ++v) {
      std::fill(sums, sums + s.columns, 0.0);
      for (std::int64_t n = 0; n < s.rows; ++n) {
        double d = slope(n, v, integerAt(*o.targets, n));
        for (std::int64_t c = 0; c < s.columns; ++c)
          sums[c] += d * logits.x.load(n, c);
      }
      for (std::int64_t c = 0; c < s.columns; ++c)
        storeResult(*o.dweight, dweight.offset(v) + c * dweight.stride, sums[c], s.addsWeight);
    }
    return Status::ok();
  });
}

Bound linear_cross_entropy_and_grad(const KernelRequest &request) {
  return LossAndGradient::prepare(request, linear_cross_entropy, linear_cross_entropy_grad);
}

} // namespace sluice::cpu::reference
