//===- LogSumExp.cpp - logarithm of the sum of exponentials by rows -------------===//
#include "runtime/kernel/cpu/FastKernels.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/reference/References.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {
namespace {

template <typename T> Bound rowsOf(const KernelRequest &request) {
  return makeKernel(request, [&l = loops().of<T>()](Call &call) {
    Rows x(call.inputs[0]);
    const Operand &y = call.outputs[0];
    forEach(call.threads, x.rows,
            [&](std::int64_t row) { store(y, offsetOf(y, 0, y.rank, row), l.logSumRow(x.at<T>(row), x.columns)); });
    return Status::ok();
  });
}

} // namespace

/// By rows of neighbouring elements; others by the reference.
Bound fast::logsumexp(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto plain, reference::logsumexp(request));
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (!contiguousRows(x) || x.extent[x.rank - 1] == 0)
    return plain;
  if (!hasLoops(x.dtype) || x.dtype != y.dtype)
    return plain;
  return withLoops(x.dtype, [&]<typename T>() { return rowsOf<T>(request); });
}

} // namespace sluice::cpu
