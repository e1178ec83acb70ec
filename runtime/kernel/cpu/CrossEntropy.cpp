//===- CrossEntropy.cpp - cross entropy by rows -------------------------------===//
//
// Losses of rows are written to workspace in f64 and added in order of rows: the sum does not depend on threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/CpuWorkspace.h"
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/CrossEntropyShape.h"
#include "runtime/kernel/cpu/LossAndGradient.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <cmath>

namespace sluice::cpu {
namespace {

template <typename T> Bound forwardOf(const KernelRequest &request, const CrossEntropyShape &shape) {
  return makeKernel(request, [&l = loops().of<T>(), s = shape](Call &call) {
    Rows x(call.inputs[0]);
    const Operand &targets = call.inputs[1], &lse = call.outputs[1];
    SLUICE_RETURN_IF_ERROR(s.checkTargets(targets));
    double *losses = static_cast<double *>(call.workspace);
    forEach(call.threads, x.rows, [&](std::int64_t row) {
      const T *logits = x.at<T>(row);
      double logSum = l.logSumRow(logits, s.classes);
      storeAt(lse, row, logSum);
      std::int64_t target = integerAt(targets, row);
      double targetLogit = target == s.ignore ? 0 : static_cast<double>(static_cast<float>(logits[target]));
      if (target != s.ignore && s.smoothing != 0)
        targetLogit = (1 - s.smoothing) * targetLogit +
                      s.smoothing / static_cast<double>(s.classes) * l.rowSum(logits, s.classes);
      losses[row] = target == s.ignore ? 0 : logSum - targetLogit;
    });
    double loss = 0;
    for (std::int64_t row = 0; row < x.rows; ++row)
      loss += losses[row];
    store(call.outputs[0], 0, s.mean ? loss / static_cast<double>(s.counted(targets)) : loss);
    return Status::ok();
  });
}

template <typename T> Bound backwardOf(const KernelRequest &request, const CrossEntropyShape &shape) {
  return makeKernel(request, [&l = loops().of<T>(), s = shape](Call &call) {
    Rows x(call.inputs[1]), dx(call.outputs[0]);
    const Operand &targets = call.inputs[2], &lse = call.inputs[3];
    SLUICE_RETURN_IF_ERROR(s.checkTargets(targets));
    double scale = load(call.inputs[0], 0);
    if (s.mean)
      scale /= static_cast<double>(s.counted(targets));
    float factor = static_cast<float>(scale);
    // The share of label smoothing for each class.
    double share = s.smoothing / static_cast<double>(s.total);
    auto less = static_cast<float>(share * scale);
    forEach(call.threads, x.rows, [&](std::int64_t row) {
      std::int64_t target = integerAt(targets, row);
      T *out = dx.at<T>(row);
      if (target == s.ignore) {
        std::fill(out, out + s.classes, T(0.f));
        return;
      }
      const T *logits = x.at<T>(row);
      double logSum = loadAt(lse, row);
      std::int64_t place = s.placeOf(target);
      // p - 1 + smoothing - share, read before the row is overwritten, because dlogits may have the memory of the
      // logits.
      double atTarget = place < 0 ? 0
                                  : std::expm1(static_cast<double>(static_cast<float>(logits[place])) - logSum) +
                                        (s.smoothing - share);
      l.softmaxScaledRow(logits, out, s.classes, logSum, factor, less);
      if (place >= 0)
        out[place] = T(static_cast<float>(atTarget * scale));
    });
    return Status::ok();
  });
}

} // namespace

Bound fast::cross_entropy(const KernelRequest &request) {
  const Operand &logits = request.inputs[0];
  if (!contiguousRows(logits) || !hasLoops(logits.dtype))
    return useReference();
  SLUICE_ASSIGN_OR_RETURN(CrossEntropyShape shape, CrossEntropyShape::of(request, logits, request.inputs[1],
                                                                         request.outputs[1], request.outputs[0]));
  SLUICE_RETURN_IF_ERROR(Check(request).workspace(crossEntropyWorkspace(request.inputs[1].elements())));
  return withLoops(logits.dtype, [&]<typename T>() { return forwardOf<T>(request, shape); });
}

Bound fast::cross_entropy_grad(const KernelRequest &request) {
  const Operand &logits = request.inputs[1], &dlogits = request.outputs[0];
  if (!contiguousRows(logits) || !contiguousRows(dlogits) || logits.dtype != dlogits.dtype || !hasLoops(logits.dtype))
    return useReference();
  SLUICE_ASSIGN_OR_RETURN(CrossEntropyShape shape, CrossEntropyShape::ofGradient(request));
  return withLoops(logits.dtype, [&]<typename T>() { return backwardOf<T>(request, shape); });
}

Bound fast::cross_entropy_and_grad(const KernelRequest &request) {
  return LossAndGradient::prepare(request, findCpuKernel(KernelId::cross_entropy),
                                  findCpuKernel(KernelId::cross_entropy_grad));
}

} // namespace sluice::cpu
