//===- LogSumExp.cpp - logarithm of the sum of exponentials over the last dim -------------------===//
#include "runtime/kernel/cpu/reference/References.h"

#include <cmath>
#include <limits>

namespace sluice::cpu::reference {

Bound logsumexp(const KernelRequest &request) {
  Check check(request);
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (x.rank < 1)
    return check.rank(x, 1);
  SLUICE_RETURN_IF_ERROR(check.rank(y, x.rank - 1));
  SLUICE_RETURN_IF_ERROR(check.dims(y, 0, y.rank, x));
  return makeKernel(request, [](Call &call) {
    Rows x(call.inputs[0]);
    const Operand &y = call.outputs[0];
    for (std::int64_t row = 0; row < x.rows; ++row) {
      std::int64_t from = x.offset(row);
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t c = 0; c < x.columns; ++c)
        largest = std::fmax(largest, load(*x.operand, from + c * x.stride));
      for (std::int64_t c = 0; c < x.columns && std::isfinite(largest); ++c)
        sum += std::exp(load(*x.operand, from + c * x.stride) - largest);
      store(y, offsetOf(y, 0, y.rank, row), std::isfinite(largest) ? largest + std::log(sum) : largest);
    }
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
