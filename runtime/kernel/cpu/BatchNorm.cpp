//===- BatchNorm.cpp - batch norm by rows of channels ------------------------------===//
//
// Sums over rows: rows are divided into up to 64 runs, each run is added in order, and the runs are added in order in
// f64. The order of addition depends only on the number of rows. Mean and variance need one pass over memory: a run
// adds the differences to the mean of its first rows and their squares, and the runs' means and squares are combined in
// f64.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/CpuWorkspace.h"
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <cmath>
#include <cstring>

namespace sluice::cpu {
namespace {

/// The workspace: of each run three vectors of channels, then two more.
struct Scratch {
  std::int64_t channels;
  float *floats;
  float *run(std::int64_t r) const { return floats + r * 3 * channels; }
  float *first() const { return run(batchNormRuns); }
  float *second() const { return first() + channels; }
};

/// Smallest number of rows of a run if there are enough, and largest number of rows whose mean the run subtracts.
constexpr std::int64_t runRows = 32, shiftRows = 64;
/// Channels that are combined at once.
constexpr std::int64_t channelBlock = 128;

struct Runs {
  std::int64_t rows, count, length;
  explicit Runs(std::int64_t rows)
      : rows(rows), count(std::clamp<std::int64_t>(rows / runRows, 1, batchNormRuns)),
        length((rows + count - 1) / count) {}
  std::int64_t first(std::int64_t r) const { return std::min(rows, r * length); }
  std::int64_t size(std::int64_t r) const { return first(r + 1) - first(r); }
};

/// Mean and variance of the columns of x.
template <typename T>
void findStatistics(const Scratch &scratch, int threads, const Rows &x, float *mean, float *variance) {
  const auto &l = loops().of<T>();
  std::int64_t channels = scratch.channels;
  Runs runs(x.rows);
  forEach(threads, runs.count, [&](std::int64_t r) {
    float *shift = scratch.run(r), *sums = shift + channels, *squares = sums + channels;
    std::int64_t begin = runs.first(r), rows = runs.size(r), first = std::min((rows + 7) / 8, shiftRows);
    if (rows == 0)
      return;
    auto add = [&](std::int64_t count) {
      std::fill(sums, sums + 2 * channels, 0.f);
      if (x.pitch >= 0)
        l.shiftedSums(x.at<T>(begin), x.pitch, count, shift, sums, squares, channels);
      else
        for (std::int64_t row = begin; row < begin + count; ++row)
          l.shiftedSums(x.at<T>(row), 0, 1, shift, sums, squares, channels);
    };
    std::fill(shift, shift + channels, 0.f);
    add(first);
    for (std::int64_t c = 0; c < channels; ++c)
      shift[c] = sums[c] / static_cast<float>(first);
    add(rows);
  });
  double inverse = 1 / static_cast<double>(x.rows);
  for (std::int64_t begin = 0; begin < channels; begin += channelBlock) {
    std::int64_t count = std::min(channelBlock, channels - begin);
    double centre[channelBlock] = {}, squares[channelBlock] = {};
    for (std::int64_t r = 0; r < runs.count && runs.size(r); ++r) {
      const float *shift = scratch.run(r) + begin, *sums = shift + channels;
      auto rows = static_cast<double>(runs.size(r));
      for (std::int64_t c = 0; c < count; ++c)
        centre[c] += shift[c] * rows + sums[c];
    }
    for (std::int64_t c = 0; c < count; ++c)
      centre[c] *= inverse;
    for (std::int64_t r = 0; r < runs.count && runs.size(r); ++r) {
      const float *shift = scratch.run(r) + begin, *sums = shift + channels, *ofSquares = sums + channels;
      auto rows = static_cast<double>(runs.size(r));
      for (std::int64_t c = 0; c < count; ++c) {
        // The squares about the run's mean, and the distance of that mean from the total one.
        double part = sums[c] / rows, distance = shift[c] + part - centre[c];
        squares[c] += ofSquares[c] - part * sums[c] + distance * distance * rows;
      }
    }
    for (std::int64_t c = 0; c < count; ++c) {
      mean[begin + c] = static_cast<float>(centre[c]);
      // Rounding may make it negative; NaN passes.
      variance[begin + c] = squares[c] < 0 ? 0.f : static_cast<float>(squares[c] * inverse);
    }
  }
}

/// addRow(row, sums) for all rows, sums of `width` floats a run; then total(i, sum over runs) for each of them.
template <typename AddRow, typename Total>
void sumRows(const Scratch &scratch, int threads, std::int64_t rows, std::int64_t width, AddRow addRow, Total total) {
  Runs runs(rows);
  forEach(threads, runs.count, [&](std::int64_t r) {
    float *sums = scratch.run(r);
    std::memset(sums, 0, static_cast<std::size_t>(width) * sizeof(float));
    for (std::int64_t row = runs.first(r); row < runs.first(r + 1); ++row)
      addRow(row, sums);
  });
  for (std::int64_t begin = 0; begin < width; begin += channelBlock) {
    std::int64_t count = std::min(channelBlock, width - begin);
    double sums[channelBlock] = {};
    for (std::int64_t r = 0; r < runs.count && runs.size(r); ++r)
      for (std::int64_t i = 0; i < count; ++i)
        sums[i] += scratch.run(r)[begin + i];
    for (std::int64_t i = 0; i < count; ++i)
      total(begin + i, sums[i]);
  }
}

template <typename T> Bound forwardOf(const KernelRequest &request, double epsilon) {
  return makeKernel(request, [&l = loops().of<T>(), epsilon](Call &call) {
    Rows x(call.inputs[0]), y(call.outputs[0]);
    std::int64_t channels = x.columns;
    Scratch scratch{channels, static_cast<float *>(call.workspace)};
    float *mean = call.outputs[1].as<float>(), *variance = call.outputs[2].as<float>();
    const T *weight = call.inputs[1].as<T>(), *bias = call.inputs[2].as<T>();
    findStatistics<T>(scratch, call.threads, x, mean, variance);
    float *scale = scratch.first(), *shift = scratch.second();
    for (std::int64_t c = 0; c < channels; ++c) {
      double factor = static_cast<float>(weight[c]) / std::sqrt(variance[c] + epsilon);
      scale[c] = static_cast<float>(factor);
      shift[c] = static_cast<float>(static_cast<float>(bias[c]) - mean[c] * factor);
    }
    forEach(call.threads, x.rows,
            [&](std::int64_t row) { l.scaleShiftRow(x.at<T>(row), scale, shift, y.at<T>(row), channels); });
    return Status::ok();
  });
}

template <typename T> Bound backwardOf(const KernelRequest &request, double epsilon) {
  return makeKernel(request, [&l = loops().of<T>(), epsilon, adds = request.adds](Call &call) {
    Rows dy(call.inputs[0]), x(call.inputs[1]), dx(call.outputs[0]);
    std::int64_t channels = x.columns;
    Scratch scratch{channels, static_cast<float *>(call.workspace)};
    const float *mean = call.inputs[3].as<float>(), *variance = call.inputs[4].as<float>();
    const T *weight = call.inputs[2].as<T>();
    auto count = static_cast<double>(x.rows);
    float *sums = scratch.first(), *products = scratch.second();
    sumRows(
        scratch, call.threads, x.rows, 2 * channels,
        [&](std::int64_t row, float *run) {
          l.channelGradSums(dy.at<T>(row), x.at<T>(row), mean, run, run + channels, channels);
        },
        [&](std::int64_t i, double sum) { sums[i] = static_cast<float>(sum); });
    // dx = a dy + b x + c, with u = (x - mean) rstd: a = weight rstd, b = -a rstd^2 products / n, c = -a sums / n - b
    // mean.
    float *a = scratch.run(0), *b = scratch.run(1), *c = scratch.run(2);
    for (std::int64_t i = 0; i < channels; ++i) {
      double rstd = 1 / std::sqrt(variance[i] + epsilon), factor = static_cast<float>(weight[i]) * rstd;
      double slope = -factor * rstd * rstd * products[i] / count;
      a[i] = static_cast<float>(factor);
      b[i] = static_cast<float>(slope);
      c[i] = static_cast<float>(-factor * sums[i] / count - slope * mean[i]);
      storeResult(call.outputs[1], i, static_cast<float>(products[i] * rstd), adds[1]);
      storeResult(call.outputs[2], i, sums[i], adds[2]);
    }
    forEach(call.threads, x.rows,
            [&](std::int64_t row) { l.channelGradRow(dy.at<T>(row), x.at<T>(row), a, b, c, dx.at<T>(row), channels); });
    return Status::ok();
  });
}

/// The statistics are f32, x, the vectors and the first result of one type with loops.
Bound prepare(const KernelRequest &request, bool isGrad) {
  const auto &in = request.inputs, &out = request.outputs;
  const Operand &x = in[isGrad];
  const auto vectors = in.subspan(isGrad ? 2 : 1), statistics = isGrad ? in.subspan(3) : out.subspan(1);
  const auto isDense = [](const Operand &vector) { return vector.isDense(); };
  if (x.elements() == 0 || !allContiguousRows(request) || !haveType(DType::f32, statistics) ||
      !std::ranges::all_of(vectors, isDense) || !std::ranges::all_of(out.subspan(1), isDense))
    return useReference();
  SLUICE_RETURN_IF_ERROR(Check(request).workspace(batchNormWorkspace(x.extent[x.rank - 1])));
  const DType type = x.dtype;
  if (!hasLoops(type) || !haveType(type, in.first(3)) || !haveType(type, out.first(1)))
    return useReference();
  const double epsilon = request.attributes->number("epsilon");
  return withLoops(
      type, [&]<typename T>() { return isGrad ? backwardOf<T>(request, epsilon) : forwardOf<T>(request, epsilon); });
}

} // namespace

Bound fast::batch_norm(const KernelRequest &request) { return prepare(request, false); }
Bound fast::batch_norm_grad(const KernelRequest &request) { return prepare(request, true); }

} // namespace sluice::cpu
