//===- BatchNorm.cpp - batch norm by rows of channels ------------------------------===//
//
// Sums over rows: rows are cut in a fixed number of runs, each run is added in order in blocks of 64 rows, and the runs
// are added in order in f64. The order of addition is a function of the number of rows alone. Means come first, then
// squares of what is left of them.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/Registry.h"
#include "runtime/kernel/cpu/Workspace.h"
#include "runtime/kernel/cpu/reference/References.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <cmath>
#include <cstring>

namespace sluice::cpu {
namespace {

/// One channel's part of the workspace: sums of runs, two a channel, then two vectors.
struct Scratch {
  std::int64_t channels;
  float *floats;
  float *run(std::int64_t r) const { return floats + r * 2 * channels; }
  float *first() const { return floats + batchNormRuns * 2 * channels; }
  float *second() const { return first() + channels; }
};

/// addRow(row, sums) for all rows, sums of `width` floats a run; then total(i, sum over runs) for each of them.
template <typename AddRow, typename Total>
void sumRows(const Scratch &scratch, int threads, std::int64_t rows, std::int64_t width, AddRow addRow, Total total) {
  std::int64_t length = (rows + batchNormRuns - 1) / batchNormRuns;
  forEach(threads, batchNormRuns, [&](std::int64_t r) {
    float *sums = scratch.run(r);
    std::memset(sums, 0, static_cast<std::size_t>(width) * sizeof(float));
    for (std::int64_t row = r * length; row < std::min(rows, (r + 1) * length); ++row)
      addRow(row, sums);
  });
  for (std::int64_t i = 0; i < width; ++i) {
    double sum = 0;
    for (std::int64_t r = 0; r < batchNormRuns; ++r)
      sum += scratch.run(r)[i];
    total(i, sum);
  }
}

template <typename T> Bound forwardOf(const KernelRequest &request, double epsilon) {
  return makeKernel(request, [&l = loops().of<T>(), epsilon](Call &call) {
    Rows x(call.inputs[0]), y(call.outputs[0]);
    std::int64_t channels = x.columns;
    Scratch scratch{channels, static_cast<float *>(call.workspace)};
    float *mean = call.outputs[1].as<float>(), *variance = call.outputs[2].as<float>();
    const T *weight = call.inputs[1].as<T>(), *bias = call.inputs[2].as<T>();
    auto count = static_cast<double>(x.rows);
    sumRows(scratch, call.threads, x.rows, channels,
            [&](std::int64_t row, float *sums) { l.addTo(x.at<T>(row), sums, channels); },
            [&](std::int64_t c, double sum) { mean[c] = static_cast<float>(sum / count); });
    sumRows(scratch, call.threads, x.rows, channels,
            [&](std::int64_t row, float *sums) { l.centredSquares(x.at<T>(row), mean, sums, channels); },
            [&](std::int64_t c, double sum) { variance[c] = static_cast<float>(sum / count); });
    float *scale = scratch.first(), *shift = scratch.second();
    for (std::int64_t c = 0; c < channels; ++c) {
      double factor = static_cast<float>(weight[c]) / std::sqrt(variance[c] + epsilon);
      scale[c] = static_cast<float>(factor);
      shift[c] = static_cast<float>(static_cast<float>(bias[c]) - mean[c] * factor);
    }
    forEach(call.threads, x.rows, [&](std::int64_t row) {
      l.scaleShiftRow(x.at<T>(row), scale, shift, y.at<T>(row), channels);
    });
    return Status::ok();
  });
}

template <typename T> Bound backwardOf(const KernelRequest &request, double epsilon) {
  return makeKernel(request, [&l = loops().of<T>(), epsilon](Call &call) {
    Rows dy(call.inputs[0]), x(call.inputs[1]), dx(call.outputs[0]);
    std::int64_t channels = x.columns;
    Scratch scratch{channels, static_cast<float *>(call.workspace)};
    const float *mean = call.inputs[3].as<float>(), *variance = call.inputs[4].as<float>();
    const T *weight = call.inputs[2].as<T>();
    auto count = static_cast<double>(x.rows);
    float *sums = scratch.first(), *products = scratch.second();
    sumRows(scratch, call.threads, x.rows, 2 * channels,
            [&](std::int64_t row, float *run) {
              l.channelGradSums(dy.at<T>(row), x.at<T>(row), mean, run, run + channels, channels);
            },
            [&](std::int64_t i, double sum) { sums[i] = static_cast<float>(sum); });
    // dx = a dy + b x + c, with u = (x - mean) rstd: a = weight rstd, b = -a rstd^2 products / n, c = -a sums / n - b mean.
    float *a = scratch.run(0), *b = scratch.run(1), *c = scratch.run(2);
    for (std::int64_t i = 0; i < channels; ++i) {
      double rstd = 1 / std::sqrt(variance[i] + epsilon), factor = static_cast<float>(weight[i]) * rstd;
      double slope = -factor * rstd * rstd * products[i] / count;
      a[i] = static_cast<float>(factor);
      b[i] = static_cast<float>(slope);
      c[i] = static_cast<float>(-factor * sums[i] / count - slope * mean[i]);
      call.outputs[1].as<T>()[i] = T(static_cast<float>(products[i] * rstd));
      call.outputs[2].as<T>()[i] = T(sums[i]);
    }
    forEach(call.threads, x.rows, [&](std::int64_t row) {
      l.channelGradRow(dy.at<T>(row), x.at<T>(row), a, b, c, dx.at<T>(row), channels);
    });
    return Status::ok();
  });
}

bool isDenseVector(const Operand &operand) { return operand.isDense(); }

Bound forward(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto plain, reference::batch_norm(request));
  auto &in = request.inputs;
  auto &out = request.outputs;
  if (in[0].elements() == 0 || !allContiguousRows(request) || !allOf(DType::f32, out[1], out[2]))
    return plain;
  for (const Operand *vector : {&in[1], &in[2], &out[1], &out[2]})
    if (!isDenseVector(*vector))
      return plain;
  SLUICE_RETURN_IF_ERROR(
      Check("batch_norm", request).workspace(batchNormWorkspace(in[0].extent[in[0].rank - 1])));
  double epsilon = numberAttribute(request, "epsilon", 1e-5);
  if (allOf(DType::f32, in[0], in[1], in[2], out[0]))
    return forwardOf<float>(request, epsilon);
  if (allOf(DType::bf16, in[0], in[1], in[2], out[0]))
    return forwardOf<Bf16>(request, epsilon);
  return plain;
}

Bound backward(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto plain, reference::batch_norm_grad(request));
  auto &in = request.inputs;
  auto &out = request.outputs;
  if (in[1].elements() == 0 || !allContiguousRows(request) || !allOf(DType::f32, in[3], in[4]))
    return plain;
  for (const Operand *vector : {&in[2], &in[3], &in[4], &out[1], &out[2]})
    if (!isDenseVector(*vector))
      return plain;
  SLUICE_RETURN_IF_ERROR(
      Check("batch_norm_grad", request).workspace(batchNormWorkspace(in[1].extent[in[1].rank - 1])));
  double epsilon = numberAttribute(request, "epsilon", 1e-5);
  if (allOf(DType::f32, in[0], in[1], in[2], out[0], out[1], out[2]))
    return backwardOf<float>(request, epsilon);
  if (allOf(DType::bf16, in[0], in[1], in[2], out[0], out[1], out[2]))
    return backwardOf<Bf16>(request, epsilon);
  return plain;
}

constexpr FastKernel kernels[] = {{"batch_norm", forward}, {"batch_norm_grad", backward}};

} // namespace

FastKernels batchNormKernels() { return kernels; }

} // namespace sluice::cpu
