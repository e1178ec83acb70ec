//===- LayerNorm.cpp - layer norm over the last dim ---------------------------===//
//
//   y = (x - mean) rstd weight + bias,   rstd = 1 / sqrt(mean((x - mean)^2) + epsilon)
//   with h = (x - mean) rstd and g = dy weight:
//   dx = rstd (g - mean(g) - h mean(g h)),   dweight = sum dy h,   dbias = sum dy
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/reference/References.h"

#include <cmath>

namespace sluice::cpu::reference {
namespace {

Status checkStatistics(const Check &check, const Operand &statistic, const Operand &x) {
  SLUICE_RETURN_IF_ERROR(check.rank(statistic, x.rank - 1));
  return check.dims(statistic, 0, x.rank - 1, x);
}

} // namespace

Bound layer_norm(const KernelRequest &request) {
  Check check("layer_norm", request);
  SLUICE_RETURN_IF_ERROR(check.count(3, 3));
  SLUICE_RETURN_IF_ERROR(check.computable());
  const Operand &x = request.inputs[0];
  if (x.rank < 1)
    return check.rank(x, 1);
  SLUICE_RETURN_IF_ERROR(check.extent(request.outputs[0], x));
  for (int i : {1, 2}) {
    SLUICE_RETURN_IF_ERROR(check.rank(request.inputs[i], 1));
    SLUICE_RETURN_IF_ERROR(check.dim(request.inputs[i], 0, x.extent[x.rank - 1]));
    SLUICE_RETURN_IF_ERROR(checkStatistics(check, request.outputs[i], x));
  }
  double epsilon = numberAttribute(request, "epsilon", 1e-5);
  return makeKernel(request, [epsilon](Call &call) {
    Rows x(call.inputs[0]), y(call.outputs[0]);
    const Operand &weight = call.inputs[1], &bias = call.inputs[2];
    const Operand &means = call.outputs[1], &rstds = call.outputs[2];
    for (std::int64_t row = 0; row < x.rows && x.columns; ++row) {
      std::int64_t from = x.offset(row), to = y.offset(row);
      double mean = 0, variance = 0;
      for (std::int64_t c = 0; c < x.columns; ++c)
        mean += load(*x.operand, from + c * x.stride);
      mean /= x.columns;
      for (std::int64_t c = 0; c < x.columns; ++c) {
        double difference = load(*x.operand, from + c * x.stride) - mean;
        variance += difference * difference;
      }
      double rstd = 1 / std::sqrt(variance / x.columns + epsilon);
      for (std::int64_t c = 0; c < x.columns; ++c)
        store(*y.operand, to + c * y.stride,
              (load(*x.operand, from + c * x.stride) - mean) * rstd * load(weight, c * weight.strides[0]) +
                  load(bias, c * bias.strides[0]));
      store(means, offsetOf(means, 0, means.rank, row), mean);
      store(rstds, offsetOf(rstds, 0, rstds.rank, row), rstd);
    }
    return Status::ok();
  });
}

Bound layer_norm_grad(const KernelRequest &request) {
  Check check("layer_norm_grad", request);
  SLUICE_RETURN_IF_ERROR(check.count(5, 3));
  SLUICE_RETURN_IF_ERROR(check.computable());
  const Operand &x = request.inputs[1];
  if (x.rank < 1)
    return check.rank(x, 1);
  SLUICE_RETURN_IF_ERROR(check.extent(request.inputs[0], x));
  SLUICE_RETURN_IF_ERROR(check.extent(request.outputs[0], x));
  for (const Operand *vector : {&request.inputs[2], &request.outputs[1], &request.outputs[2]}) {
    SLUICE_RETURN_IF_ERROR(check.rank(*vector, 1));
    SLUICE_RETURN_IF_ERROR(check.dim(*vector, 0, x.extent[x.rank - 1]));
  }
  for (int i : {3, 4})
    SLUICE_RETURN_IF_ERROR(checkStatistics(check, request.inputs[i], x));
  return makeKernel(request, [](Call &call) {
    Rows dy(call.inputs[0]), x(call.inputs[1]), dx(call.outputs[0]);
    const Operand &weight = call.inputs[2], &means = call.inputs[3], &rstds = call.inputs[4];
    const Operand &dweight = call.outputs[1], &dbias = call.outputs[2];
    auto statistic = [](const Operand &o, std::int64_t row) { return load(o, offsetOf(o, 0, o.rank, row)); };
    // The vectors first: dx may stand in dy's place.
    for (std::int64_t c = 0; c < x.columns; ++c) {
      double ofWeight = 0, ofBias = 0;
      for (std::int64_t row = 0; row < x.rows; ++row) {
        double g = load(*dy.operand, dy.offset(row) + c * dy.stride);
        ofBias += g;
        ofWeight += g * (load(*x.operand, x.offset(row) + c * x.stride) - statistic(means, row)) *
                    statistic(rstds, row);
      }
      store(dweight, c * dweight.strides[0], ofWeight);
      store(dbias, c * dbias.strides[0], ofBias);
    }
    for (std::int64_t row = 0; row < x.rows && x.columns; ++row) {
      std::int64_t dyAt = dy.offset(row), xAt = x.offset(row), dxAt = dx.offset(row);
      double mean = statistic(means, row), rstd = statistic(rstds, row), sum = 0, dot = 0;
      for (std::int64_t c = 0; c < x.columns; ++c) {
        double g = load(*dy.operand, dyAt + c * dy.stride) * load(weight, c * weight.strides[0]);
        sum += g;
        dot += g * (load(*x.operand, xAt + c * x.stride) - mean) * rstd;
      }
      for (std::int64_t c = 0; c < x.columns; ++c) {
        double g = load(*dy.operand, dyAt + c * dy.stride) * load(weight, c * weight.strides[0]);
        double h = (load(*x.operand, xAt + c * x.stride) - mean) * rstd;
        store(*dx.operand, dxAt + c * dx.stride, rstd * (g - sum / x.columns - h * dot / x.columns));
      }
    }
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
