//===- RmsNorm.cpp - the norm by the root of the mean square -------------------===//
//
//   y = x rstd weight,   rstd = 1 / sqrt(mean(x^2) + epsilon)
//   with h = x rstd and g = dy weight:   dx = rstd (g - h mean(g h)),   dweight = sum dy h
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/reference/References.h"

#include <cmath>

namespace sluice::cpu::reference {
namespace {

Status checkStatistic(const Check &check, const Operand &statistic, const Operand &x) {
  SLUICE_RETURN_IF_ERROR(check.rank(statistic, x.rank - 1));
  return check.dims(statistic, 0, x.rank - 1, x);
}

Status checkVector(const Check &check, const Operand &vector, const Operand &x) {
  SLUICE_RETURN_IF_ERROR(check.rank(vector, 1));
  return check.dim(vector, 0, x.extent[x.rank - 1]);
}

} // namespace

Bound rms_norm(const KernelRequest &request) {
  Check check("rms_norm", request);
  SLUICE_RETURN_IF_ERROR(check.count(2, 2));
  SLUICE_RETURN_IF_ERROR(check.computable());
  const Operand &x = request.inputs[0];
  if (x.rank < 1)
    return check.rank(x, 1);
  SLUICE_RETURN_IF_ERROR(check.extent(request.outputs[0], x));
  SLUICE_RETURN_IF_ERROR(checkVector(check, request.inputs[1], x));
  SLUICE_RETURN_IF_ERROR(checkStatistic(check, request.outputs[1], x));
  double epsilon = numberAttribute(request, "epsilon", 1e-6);
  return makeKernel(request, [epsilon](Call &call) {
    Rows x(call.inputs[0]), y(call.outputs[0]);
    const Operand &weight = call.inputs[1], &rstds = call.outputs[1];
    for (std::int64_t row = 0; row < x.rows && x.columns; ++row) {
      std::int64_t from = x.offset(row), to = y.offset(row);
      double squares = 0;
      for (std::int64_t c = 0; c < x.columns; ++c) {
        double value = load(*x.operand, from + c * x.stride);
        squares += value * value;
      }
      double rstd = 1 / std::sqrt(squares / static_cast<double>(x.columns) + epsilon);
      for (std::int64_t c = 0; c < x.columns; ++c)
        store(*y.operand, to + c * y.stride,
              load(*x.operand, from + c * x.stride) * rstd * load(weight, c * weight.strides[0]));
      store(rstds, offsetOf(rstds, 0, rstds.rank, row), rstd);
    }
    return Status::ok();
  });
}

Bound rms_norm_grad(const KernelRequest &request) {
  Check check("rms_norm_grad", request);
  SLUICE_RETURN_IF_ERROR(check.count(4, 2));
  SLUICE_RETURN_IF_ERROR(check.computable());
  const Operand &x = request.inputs[1];
  if (x.rank < 1)
    return check.rank(x, 1);
  SLUICE_RETURN_IF_ERROR(check.extent(request.inputs[0], x));
  SLUICE_RETURN_IF_ERROR(check.extent(request.outputs[0], x));
  for (const Operand *vector : {&request.inputs[2], &request.outputs[1]})
    SLUICE_RETURN_IF_ERROR(checkVector(check, *vector, x));
  SLUICE_RETURN_IF_ERROR(checkStatistic(check, request.inputs[3], x));
  return makeKernel(request, [](Call &call) {
    Rows dy(call.inputs[0]), x(call.inputs[1]), dx(call.outputs[0]);
    const Operand &weight = call.inputs[2], &rstds = call.inputs[3], &dweight = call.outputs[1];
    auto rstdOf = [&](std::int64_t row) { return load(rstds, offsetOf(rstds, 0, rstds.rank, row)); };
    // The vector first: dx may stand in dy's place.
    for (std::int64_t c = 0; c < x.columns; ++c) {
      double sum = 0;
      for (std::int64_t row = 0; row < x.rows; ++row)
        sum += load(*dy.operand, dy.offset(row) + c * dy.stride) *
               load(*x.operand, x.offset(row) + c * x.stride) * rstdOf(row);
      store(dweight, c * dweight.strides[0], sum);
    }
    for (std::int64_t row = 0; row < x.rows && x.columns; ++row) {
      std::int64_t dyAt = dy.offset(row), xAt = x.offset(row), dxAt = dx.offset(row);
      double rstd = rstdOf(row), dot = 0;
      for (std::int64_t c = 0; c < x.columns; ++c)
        dot += load(*dy.operand, dyAt + c * dy.stride) * load(weight, c * weight.strides[0]) *
               load(*x.operand, xAt + c * x.stride) * rstd;
      dot /= static_cast<double>(x.columns);
      for (std::int64_t c = 0; c < x.columns; ++c) {
        double g = load(*dy.operand, dyAt + c * dy.stride) * load(weight, c * weight.strides[0]);
        double h = load(*x.operand, xAt + c * x.stride) * rstd;
        store(*dx.operand, dxAt + c * dx.stride, rstd * (g - h * dot));
      }
    }
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
