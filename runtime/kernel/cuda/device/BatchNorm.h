//===- BatchNorm.h - batch norm over all dims but the last -------------------------------------------------===//
//
// Sums of a channel: 64 runs of rows, each in order by one thread, then the runs in order in f64. The variance
// is computed from differences to the mean, in a second pass.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_BATCHNORM_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_BATCHNORM_H

#include "runtime/kernel/cuda/device/WriteResult.h"

namespace sluice::cuda {

/// The terms of channelSums: x; the squares of x - mean; dy, and dy times the normalized x.
enum class ChannelSum : int { values, squares, gradients };

inline constexpr int channelRuns = 64;

struct BatchNormArgs {
  /// x and y by rows of channels; the gradients; vectors of one number a channel.
  View x, y, dy, dx, weight, bias, mean, variance, dweight, dbias;
  Index rows = 0, columns = 0;
  double epsilon = 0;
  int sum = 0;
  /// 1 if the gradients are added to sums.
  int addsWeight = 0, addsBias = 0;
  /// [run][2][columns], then [2][columns]: sums of runs, then their totals: mean and variance, dbias and dweight.
  double *scratch = nullptr;

  SLUICE_DEVICE double *totals() const { return scratch + channelRuns * 2 * columns; }
};

SLUICE_DEVICE Index channelAt(const View &view, Index row, Index column) {
  return offsetIn(view, view.rank - 1, row) + column * view.strides[view.rank - 1];
}

template <typename E> SLUICE_DEVICE void channelSums(const BatchNormArgs &args, Lane lane) {
  using T = typename E::Real;
  const Index tiles = (args.columns + lane.threads() - 1) / lane.threads();
  const Index run = lane.block() / tiles, column = lane.block() % tiles * lane.threads() + lane.thread();
  const Index length = (args.rows + channelRuns - 1) / channelRuns;
  const Index begin = run * length, end = begin + length < args.rows ? begin + length : args.rows;
  if (column >= args.columns)
    return;
  const ChannelSum what = static_cast<ChannelSum>(args.sum);
  T mean = 0, rstd = 0, first = 0, second = 0;
  if (what == ChannelSum::squares)
    mean = static_cast<T>(args.totals()[column]);
  if (what == ChannelSum::gradients) {
    mean = static_cast<T>(readAny(args.mean, column * args.mean.strides[0]));
    rstd = 1 / rootOf(static_cast<T>(readAny(args.variance, column * args.variance.strides[0])) +
                      static_cast<T>(args.epsilon));
  }
  for (Index row = begin; row < end; ++row) {
    const T x = E::read(args.x, channelAt(args.x, row, column));
    if (what == ChannelSum::values) {
      first += x;
    } else if (what == ChannelSum::squares) {
      first += (x - mean) * (x - mean);
    } else {
      const T dy = E::read(args.dy, channelAt(args.dy, row, column));
      first += dy;
      second += dy * (x - mean) * rstd;
    }
  }
  double *partial = args.scratch + run * 2 * args.columns;
  partial[column] = first;
  partial[args.columns + column] = second;
}

/// Adds up the runs and writes the outputs.
SLUICE_DEVICE void channelSumsEnd(const BatchNormArgs &args, Lane lane) {
  const Index column = lane.block() * lane.threads() + lane.thread();
  if (column >= args.columns)
    return;
  double first = 0, second = 0;
  for (int run = 0; run < channelRuns; ++run) {
    first += args.scratch[run * 2 * args.columns + column];
    second += args.scratch[(run * 2 + 1) * args.columns + column];
  }
  double *totals = args.totals();
  const double count = static_cast<double>(args.rows);
  switch (static_cast<ChannelSum>(args.sum)) {
  case ChannelSum::values:
    totals[column] = first / count;
    writeAny(args.mean, column * args.mean.strides[0], first / count);
    break;
  case ChannelSum::squares:
    totals[args.columns + column] = first / count;
    writeAny(args.variance, column * args.variance.strides[0], first / count);
    break;
  case ChannelSum::gradients:
    totals[column] = first;
    totals[args.columns + column] = second;
    writeResult(args.dbias, column * args.dbias.strides[0], first, args.addsBias);
    writeResult(args.dweight, column * args.dweight.strides[0], second, args.addsWeight);
  }
}

template <typename E> SLUICE_DEVICE void batchNorm(const BatchNormArgs &args, Lane lane) {
  using T = typename E::Real;
  const Index count = args.rows * args.columns, step = lane.blocks() * lane.threads();
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += step) {
    const Index row = i / args.columns, column = i - row * args.columns;
    const T mean = static_cast<T>(args.totals()[column]);
    const T rstd = 1 / rootOf(static_cast<T>(args.totals()[args.columns + column]) + static_cast<T>(args.epsilon));
    const T weight = E::read(args.weight, column * args.weight.strides[0]);
    const T bias = E::read(args.bias, column * args.bias.strides[0]);
    E::write(args.y, channelAt(args.y, row, column),
             (E::read(args.x, channelAt(args.x, row, column)) - mean) * rstd * weight + bias);
  }
}

/// dx = weight rstd (dy - dbias / n - u dweight / n), u the normalized x.
template <typename E> SLUICE_DEVICE void batchNormGrad(const BatchNormArgs &args, Lane lane) {
  using T = typename E::Real;
  const Index total = args.rows * args.columns, step = lane.blocks() * lane.threads();
  const T count = static_cast<T>(args.rows);
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < total; i += step) {
    const Index row = i / args.columns, column = i - row * args.columns;
    const T mean = static_cast<T>(readAny(args.mean, column * args.mean.strides[0]));
    const T rstd = 1 / rootOf(static_cast<T>(readAny(args.variance, column * args.variance.strides[0])) +
                              static_cast<T>(args.epsilon));
    const T weight = E::read(args.weight, column * args.weight.strides[0]);
    const T dbias = static_cast<T>(args.totals()[column]),
            dweight = static_cast<T>(args.totals()[args.columns + column]);
    const T u = (E::read(args.x, channelAt(args.x, row, column)) - mean) * rstd;
    E::write(args.dx, channelAt(args.dx, row, column),
             weight * rstd * (E::read(args.dy, channelAt(args.dy, row, column)) - dbias / count - u * dweight / count));
  }
}

} // namespace sluice::cuda

#define SLUICE_BATCH_NORM_KERNELS(X)                                                                                   \
  SLUICE_POLICIES(X, channelSums, BatchNormArgs)                                                                       \
  SLUICE_POLICIES(X, batchNorm, BatchNormArgs)                                                                         \
  SLUICE_POLICIES(X, batchNormGrad, BatchNormArgs)                                                                     \
  X(sluice_channelSumsEnd, channelSumsEnd, BatchNormArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_BATCHNORM_H
