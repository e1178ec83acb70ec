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
  auto [x, weight, targets, lse, loss] = LinearLossOperands::ofForward(request.inputs, request.outputs);
  SLUICE_ASSIGN_OR_RETURN(LinearLossShape shape, LinearLossShape::of(request, x, weight, targets, lse, loss));
  SLUICE_RETURN_IF_ERROR(Check(request).workspace(plainLinearLossWorkspace(shape.columns, shape.classes)));
  return makeKernel(request, [s = shape](Call &call) {
    auto [x, weight, targets, lse, loss] = LinearLossOperands::ofForward(call.inputs, call.outputs);
    SLUICE_RETURN_IF_ERROR(s.loss.checkTargets(targets));
    Logits logits{s, Rows(x), Rows(weight)};
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
      storeAt(lse, n, logSum);
      std::int64_t target = integerAt(targets, n);
      if (target == s.loss.ignore)
        continue;
      total += logSum - (1 - s.loss.smoothing) * row[target] - s.loss.smoothing / static_cast<double>(s.classes) * all;
    }
    store(loss, 0, s.loss.mean ? total / static_cast<double>(s.loss.counted(targets)) : total);
    return Status::ok();
  });
}

Bound linear_cross_entropy_grad(const KernelRequest &request) {
  Check check(request);
  auto [x, weight, targets, lse, dloss] = LinearLossOperands::ofGradient(request.inputs);
  SLUICE_ASSIGN_OR_RETURN(LinearLossShape shape, LinearLossShape::of(request, x, weight, targets, lse, dloss));
  const Operand *like[] = {&x, &weight};
  for (int i : {0, 1}) {
    SLUICE_RETURN_IF_ERROR(check.dtype(request.outputs[i], like[i]->dtype));
    SLUICE_RETURN_IF_ERROR(check.extent(request.outputs[i], *like[i]));
  }
  SLUICE_RETURN_IF_ERROR(check.workspace(plainLinearLossWorkspace(shape.columns, shape.classes)));
  return makeKernel(request, [s = shape](Call &call) {
    auto [x, weight, targets, lse, dloss] = LinearLossOperands::ofGradient(call.inputs);
    SLUICE_RETURN_IF_ERROR(s.loss.checkTargets(targets));
    Logits logits{s, Rows(x), Rows(weight)};
    Rows dx(call.outputs[0]), dweight(call.outputs[1]);
    double factor = load(dloss, 0);
    if (s.loss.mean)
      factor /= static_cast<double>(s.loss.counted(targets));
    auto slope = [&](std::int64_t n, std::int64_t v, std::int64_t target) {
      if (target == s.loss.ignore)
        return 0.0;
      double p = std::exp(logits(n, v) - loadAt(lse, n));
      double share = s.loss.smoothing / static_cast<double>(s.classes) + (v == target ? 1 - s.loss.smoothing : 0);
      return (p - share) * factor;
    };
    double *sums = static_cast<double *>(call.workspace);
    for (std::int64_t n = 0; n < s.rows; ++n) {
      std::int64_t target = integerAt(targets, n);
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
        double d = slope(n, v, integerAt(targets, n));
        for (std::int64_t c = 0; c < s.columns; ++c)
          sums[c] += d * logits.x.load(n, c);
      }
      for (std::int64_t c = 0; c < s.columns; ++c)
        dweight.store(v, c, sums[c]);
    }
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
