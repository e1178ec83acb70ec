//===- CrossEntropy.cpp - cross entropy of logits against class indices -------===//
//
//   loss = sum or mean over rows whose target is not ignore_index of lse[row] - sum over columns of share logits
//   dlogits = (exp(logits - lse) - share) dloss / count, 0 in ignored rows
//   share = smoothing / columns, and 1 - smoothing more where the column is the target
//
// The mean over no rows is NaN, as in torch.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/CrossEntropyShape.h"
#include "runtime/kernel/cpu/LossAndGradient.h"

#include <cmath>
#include <limits>

namespace sluice::cpu::reference {

Bound cross_entropy(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(CrossEntropyShape shape, CrossEntropyShape::of(request, request.inputs[0], request.inputs[1],
                                                                         request.outputs[1], request.outputs[0]));
  return makeKernel(request, [s = shape](Call &call) {
    Rows x(call.inputs[0]);
    const Operand &targets = call.inputs[1], &lse = call.outputs[1];
    SLUICE_RETURN_IF_ERROR(s.checkTargets(targets));
    double loss = 0;
    for (std::int64_t row = 0; row < x.rows; ++row) {
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t c = 0; c < x.columns; ++c)
        largest = std::fmax(largest, x.load(row, c));
      for (std::int64_t c = 0; c < x.columns; ++c)
        sum += std::exp(x.load(row, c) - largest);
      double logSum = largest + std::log(sum);
      storeAt(lse, row, logSum);
      std::int64_t target = integerAt(targets, row);
      if (target == s.ignore)
        continue;
      double picked = (1 - s.smoothing) * x.load(row, target), all = 0;
      for (std::int64_t c = 0; c < x.columns && s.smoothing != 0; ++c)
        all += x.load(row, c);
      loss += logSum - picked - s.smoothing / static_cast<double>(x.columns) * all;
    }
    store(call.outputs[0], 0, s.mean ? loss / static_cast<double>(s.counted(targets)) : loss);
    return Status::ok();
  });
}

Bound cross_entropy_grad(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(CrossEntropyShape shape, CrossEntropyShape::ofGradient(request));
  return makeKernel(request, [s = shape](Call &call) {
    Rows x(call.inputs[1]), dx(call.outputs[0]);
    const Operand &targets = call.inputs[2], &lse = call.inputs[3];
    SLUICE_RETURN_IF_ERROR(s.checkTargets(targets));
    double factor = load(call.inputs[0], 0);
    if (s.mean)
      factor /= static_cast<double>(s.counted(targets));
    for (std::int64_t row = 0; row < x.rows; ++row) {
      std::int64_t target = integerAt(targets, row), place = s.placeOf(target);
      double logSum = loadAt(lse, row);
      for (std::int64_t c = 0; c < x.columns; ++c) {
        double p = std::exp(x.load(row, c) - logSum);
        double share = s.smoothing / static_cast<double>(s.total) + (c == place ? 1 - s.smoothing : 0);
        dx.store(row, c, target == s.ignore ? 0 : (p - share) * factor);
      }
    }
    return Status::ok();
  });
}

Bound cross_entropy_and_grad(const KernelRequest &request) {
  return LossAndGradient::prepare(request, findCpuKernel(KernelId::cross_entropy, KernelFlavour::reference),
                                  findCpuKernel(KernelId::cross_entropy_grad, KernelFlavour::reference));
}

} // namespace sluice::cpu::reference
