//===- Rows.h - kernels over rows of the last dim ----------------------------------===//
//
// One block per row. A row's sum: each thread adds its elements in order, then blockReduce. The first thread writes the
// statistics.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_ROWS_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_ROWS_H

#include "runtime/kernel/cuda/device/WriteResult.h"

namespace sluice::cuda {

/// Elements of one row of a view.
struct Row {
  Index at, step;
  SLUICE_DEVICE Row(const View &view, Index row)
      : at(offsetIn(view, view.rank - 1, row)), step(view.rank ? view.strides[view.rank - 1] : 1) {}
  SLUICE_DEVICE Index operator()(Index column) const { return at + column * step; }
};

struct RowArgs {
  /// Inputs and outputs in the kernel's order.
  View in[6];
  View out[3];
  Index rows = 0, columns = 0;
  double epsilon = 0, smoothing = 0;
  Index ignore = 0;
  int mean = 0, adds = 0;
  /// True for a gradient of a vector that holds a sum, to which the result is added.
  bool isSum[3] = {};
  /// Of a loss: the number of all classes, and the first local one.
  Index classes = 0, firstClass = 0;
  /// Scratch memory.
  void *scratch = nullptr;
};

/// x -> y
template <typename E> SLUICE_DEVICE void softmax(const RowArgs &args, Lane lane) {
  using T = typename E::Real;
  const Row x(args.in[0], lane.block()), y(args.out[0], lane.block());
  T largest = -infinityOf(T()), sum = 0;
  for (Index c = lane.thread(); c < args.columns; c += lane.threads())
    largest = maxOf(largest, E::read(args.in[0], x(c)));
  largest = blockReduce(lane, largest, MaxOf());
  for (Index c = lane.thread(); c < args.columns; c += lane.threads())
    sum += expOf(E::read(args.in[0], x(c)) - largest);
  sum = blockReduce(lane, sum, Add());
  for (Index c = lane.thread(); c < args.columns; c += lane.threads())
    E::write(args.out[0], y(c), expOf(E::read(args.in[0], x(c)) - largest) / sum);
}

/// dy, y -> dx
template <typename E> SLUICE_DEVICE void softmaxGrad(const RowArgs &args, Lane lane) {
  using T = typename E::Real;
  const Row dy(args.in[0], lane.block()), y(args.in[1], lane.block()), dx(args.out[0], lane.block());
  T sum = 0;
  for (Index c = lane.thread(); c < args.columns; c += lane.threads())
    sum += E::read(args.in[0], dy(c)) * E::read(args.in[1], y(c));
  sum = blockReduce(lane, sum, Add());
  for (Index c = lane.thread(); c < args.columns; c += lane.threads())
    E::write(args.out[0], dx(c), E::read(args.in[1], y(c)) * (E::read(args.in[0], dy(c)) - sum));
}

/// Log of the sum of exponentials of a row, the same in all threads.
template <typename E>
SLUICE_DEVICE typename E::Real logSumExpOf(const View &view, const Row &x, Index columns, Lane lane) {
  using T = typename E::Real;
  T largest = -infinityOf(T()), sum = 0;
  for (Index c = lane.thread(); c < columns; c += lane.threads())
    largest = maxOf(largest, E::read(view, x(c)));
  largest = blockReduce(lane, largest, MaxOf());
  for (Index c = lane.thread(); c < columns; c += lane.threads())
    sum += expOf(E::read(view, x(c)) - largest);
  sum = blockReduce(lane, sum, Add());
  return isFinite(largest) ? largest + logOf(sum) : largest;
}

/// x -> y without the last dim
template <typename E> SLUICE_DEVICE void logSumExp(const RowArgs &args, Lane lane) {
  const auto result = logSumExpOf<E>(args.in[0], Row(args.in[0], lane.block()), args.columns, lane);
  if (lane.thread() == 0)
    writeAny(args.out[0], offsetIn(args.out[0], args.out[0].rank, lane.block()), result);
}

/// x, weight, bias -> y, mean, rstd
template <typename E> SLUICE_DEVICE void layerNorm(const RowArgs &args, Lane lane) {
  using T = typename E::Real;
  const View &in = args.in[0], &weight = args.in[1], &bias = args.in[2];
  const Row x(in, lane.block()), y(args.out[0], lane.block());
  const T count = static_cast<T>(args.columns);
  T sum = 0, squares = 0;
  for (Index c = lane.thread(); c < args.columns; c += lane.threads())
    sum += E::read(in, x(c));
  const T mean = blockReduce(lane, sum, Add()) / count;
  // The mean of the differences corrects the rounding of a mean far above the deviation.
  sum = 0;
  for (Index c = lane.thread(); c < args.columns; c += lane.threads())
    sum += E::read(in, x(c)) - mean;
  const T shift = blockReduce(lane, sum, Add()) / count;
  for (Index c = lane.thread(); c < args.columns; c += lane.threads()) {
    const T difference = E::read(in, x(c)) - mean - shift;
    squares += difference * difference;
  }
  const T rstd = 1 / rootOf(blockReduce(lane, squares, Add()) / count + static_cast<T>(args.epsilon));
  for (Index c = lane.thread(); c < args.columns; c += lane.threads())
    E::write(args.out[0], y(c),
             (E::read(in, x(c)) - mean - shift) * rstd * E::read(weight, c * weight.strides[0]) +
                 E::read(bias, c * bias.strides[0]));
  if (lane.thread() == 0) {
    writeAny(args.out[1], offsetIn(args.out[1], args.out[1].rank, lane.block()), mean + shift);
    writeAny(args.out[2], offsetIn(args.out[2], args.out[2].rank, lane.block()), rstd);
  }
}

/// x, weight -> y, rstd
template <typename E> SLUICE_DEVICE void rmsNorm(const RowArgs &args, Lane lane) {
  using T = typename E::Real;
  const View &in = args.in[0], &weight = args.in[1];
  const Row x(in, lane.block()), y(args.out[0], lane.block());
  T squares = 0;
  for (Index c = lane.thread(); c < args.columns; c += lane.threads()) {
    const T value = E::read(in, x(c));
    squares += value * value;
  }
  const T rstd =
      1 / rootOf(blockReduce(lane, squares, Add()) / static_cast<T>(args.columns) + static_cast<T>(args.epsilon));
  for (Index c = lane.thread(); c < args.columns; c += lane.threads())
    E::write(args.out[0], y(c), E::read(in, x(c)) * rstd * E::read(weight, c * weight.strides[0]));
  if (lane.thread() == 0)
    writeAny(args.out[1], offsetIn(args.out[1], args.out[1].rank, lane.block()), rstd);
}

/// The rounding of a row's stored mean: the mean of the differences to it. 0 for rms norm. All threads call it.
template <typename E, typename T> SLUICE_DEVICE T lostOfMean(const RowArgs &args, Index row, T mean, Lane lane) {
  if (!args.mean)
    return 0;
  T sum = 0;
  const Row x(args.in[1], row);
  for (Index c = lane.thread(); c < args.columns; c += lane.threads())
    sum += E::read(args.in[1], x(c)) - mean;
  return blockReduce(lane, sum, Add()) / static_cast<T>(args.columns);
}

/// dy, x, weight, [mean,] rstd, [addend] -> dx, the first output. `mean` 0: rms norm.
template <typename E> SLUICE_DEVICE void normGrad(const RowArgs &args, Lane lane) {
  using T = typename E::Real;
  const View &weight = args.in[2], &means = args.in[3], &rstds = args.in[args.mean ? 4 : 3];
  const View &addend = args.in[args.mean ? 5 : 4];
  const Row added(addend, lane.block());
  const Row dy(args.in[0], lane.block()), x(args.in[1], lane.block()), dx(args.out[0], lane.block());
  const T mean = args.mean ? static_cast<T>(readAny(means, offsetIn(means, means.rank, lane.block()))) : T(0);
  const T rstd = static_cast<T>(readAny(rstds, offsetIn(rstds, rstds.rank, lane.block())));
  const T lost = lostOfMean<E>(args, lane.block(), mean, lane);
  T sum = 0, dot = 0;
  for (Index c = lane.thread(); c < args.columns; c += lane.threads()) {
    const T g = E::read(args.in[0], dy(c)) * E::read(weight, c * weight.strides[0]);
    sum += g;
    dot += g * (E::read(args.in[1], x(c)) - mean - lost) * rstd;
  }
  sum = args.mean ? blockReduce(lane, sum, Add()) / static_cast<T>(args.columns) : T(0);
  dot = blockReduce(lane, dot, Add()) / static_cast<T>(args.columns);
  for (Index c = lane.thread(); c < args.columns; c += lane.threads()) {
    const T g = E::read(args.in[0], dy(c)) * E::read(weight, c * weight.strides[0]);
    const T h = (E::read(args.in[1], x(c)) - mean - lost) * rstd;
    const T more = args.adds ? E::read(addend, added(c)) : T(0);
    E::write(args.out[0], dx(c), rstd * (g - sum - h * dot) + more);
  }
}

/// Runs of rows whose sums are added in order.
inline constexpr int normRuns = 64;

/// dweight and dbias of one run of rows, to scratch [run][2][columns]. One thread per column.
template <typename E> SLUICE_DEVICE void normVectors(const RowArgs &args, Lane lane) {
  using T = typename E::Real;
  const View &means = args.in[3], &rstds = args.in[args.mean ? 4 : 3];
  const Index tiles = (args.columns + lane.threads() - 1) / lane.threads();
  const Index run = lane.block() / tiles, column = lane.block() % tiles * lane.threads() + lane.thread();
  const Index length = (args.rows + normRuns - 1) / normRuns;
  const Index begin = run * length, end = begin + length < args.rows ? begin + length : args.rows;
  const bool real = column < args.columns;
  T ofWeight = 0, ofBias = 0;
  // Of all runs the same number of rows: each has barriers.
  for (Index i = 0; i < length; ++i) {
    const bool isInside = begin + i < end;
    const Index row = isInside ? begin + i : 0;
    const T mean = args.mean ? static_cast<T>(readAny(means, offsetIn(means, means.rank, row))) : T(0);
    const T lost = lostOfMean<E>(args, row, mean, lane);
    if (!real || !isInside)
      continue;
    const T g = E::read(args.in[0], Row(args.in[0], row)(column));
    ofBias += g;
    ofWeight += g * (E::read(args.in[1], Row(args.in[1], row)(column)) - mean - lost) *
                static_cast<T>(readAny(rstds, offsetIn(rstds, rstds.rank, row)));
  }
  if (!real)
    return;
  double *partial = static_cast<double *>(args.scratch) + run * 2 * args.columns;
  partial[column] = ofWeight;
  partial[args.columns + column] = ofBias;
}

/// Adds up the runs: out[1], and out[2] if there is a bias.
SLUICE_DEVICE void normVectorsEnd(const RowArgs &args, Lane lane) {
  const Index column = lane.block() * lane.threads() + lane.thread();
  if (column >= args.columns)
    return;
  const double *partial = static_cast<const double *>(args.scratch);
  double ofWeight = 0, ofBias = 0;
  for (int run = 0; run < normRuns; ++run) {
    ofWeight += partial[run * 2 * args.columns + column];
    ofBias += partial[(run * 2 + 1) * args.columns + column];
  }
  writeResult(args.out[1], column * args.out[1].strides[0], ofWeight, args.isSum[1]);
  if (args.mean)
    writeResult(args.out[2], column * args.out[2].strides[0], ofBias, args.isSum[2]);
}

/// logits, targets -> lse, and the row's loss to scratch. A target that is no class gives the loss NaN.
template <typename E> SLUICE_DEVICE void crossEntropy(const RowArgs &args, Lane lane) {
  using T = typename E::Real;
  const View &logits = args.in[0], &targets = args.in[1], &lse = args.out[1];
  const Row x(logits, lane.block());
  const T total = logSumExpOf<E>(logits, x, args.columns, lane);
  T all = 0;
  if (args.smoothing != 0) {
    for (Index c = lane.thread(); c < args.columns; c += lane.threads())
      all += E::read(logits, x(c));
    all = blockReduce(lane, all, Add());
  }
  if (lane.thread() != 0)
    return;
  writeAny(lse, offsetIn(lse, lse.rank, lane.block()), total);
  const Index target = readInteger(targets, offsetIn(targets, targets.rank, lane.block()));
  double loss = 0;
  if (target != args.ignore)
    loss = target < 0 || target >= args.columns
               ? static_cast<double>(floatOfBits(0x7fc00000u))
               : static_cast<double>(total) - (1 - args.smoothing) * static_cast<double>(E::read(logits, x(target))) -
                     args.smoothing / static_cast<double>(args.columns) * static_cast<double>(all);
  static_cast<double *>(args.scratch)[lane.block()] = loss;
}

/// The number of rows that count. One block.
SLUICE_DEVICE double countedTargets(const View &targets, Index rows, Index ignore, Lane lane) {
  return static_cast<double>(blockReduceOf(lane, rows, Index(0), Add(), [&](Index row) {
    return Index(readInteger(targets, offsetIn(targets, targets.rank, row)) != ignore);
  }));
}

/// Adds up the rows' losses. One block.
SLUICE_DEVICE void crossEntropyEnd(const RowArgs &args, Lane lane) {
  const double *losses = static_cast<const double *>(args.scratch);
  const double sum = blockReduceOf(lane, args.rows, 0.0, Add(), [&](Index row) { return losses[row]; });
  const double counted = args.mean ? countedTargets(args.in[1], args.rows, args.ignore, lane) : 1;
  if (lane.thread() == 0)
    writeAny(args.out[0], 0, sum / counted);
}

/// dloss, logits, targets, lse: writes the factor of all rows' gradients to scratch. One block.
SLUICE_DEVICE void crossEntropyFactor(const RowArgs &args, Lane lane) {
  const double counted = args.mean ? countedTargets(args.in[2], args.rows, args.ignore, lane) : 1;
  if (lane.thread() == 0)
    *static_cast<double *>(args.scratch) = readAny(args.in[0], 0) / counted;
}

/// dloss, logits, targets, lse -> dlogits
template <typename E> SLUICE_DEVICE void crossEntropyGrad(const RowArgs &args, Lane lane) {
  using T = typename E::Real;
  const View &logits = args.in[1], &targets = args.in[2], &lse = args.in[3];
  const Row x(logits, lane.block()), dx(args.out[0], lane.block());
  const Index target = readInteger(targets, offsetIn(targets, targets.rank, lane.block()));
  const T total = static_cast<T>(readAny(lse, offsetIn(lse, lse.rank, lane.block())));
  T factor = static_cast<T>(*static_cast<const double *>(args.scratch));
  const bool ignored = target == args.ignore;
  if (!ignored && (target < 0 || target >= args.classes))
    factor = floatOfBits(0x7fc00000u);
  const Index place = target - args.firstClass;
  const T share = static_cast<T>(args.smoothing / static_cast<double>(args.classes)),
          rest = static_cast<T>(1 - args.smoothing);
  for (Index c = lane.thread(); c < args.columns; c += lane.threads()) {
    const T p = expOf(E::read(logits, x(c)) - total);
    E::write(args.out[0], dx(c), ignored ? T(0) : (p - (share + (c == place ? rest : T(0)))) * factor);
  }
}

} // namespace sluice::cuda

#define SLUICE_ROWS_KERNELS(X)                                                                                         \
  SLUICE_POLICIES(X, softmax, RowArgs)                                                                                 \
  SLUICE_POLICIES(X, softmaxGrad, RowArgs)                                                                             \
  SLUICE_POLICIES(X, logSumExp, RowArgs)                                                                               \
  SLUICE_POLICIES(X, layerNorm, RowArgs)                                                                               \
  SLUICE_POLICIES(X, rmsNorm, RowArgs)                                                                                 \
  SLUICE_POLICIES(X, normGrad, RowArgs)                                                                                \
  SLUICE_POLICIES(X, normVectors, RowArgs)                                                                             \
  SLUICE_POLICIES(X, crossEntropy, RowArgs)                                                                            \
  SLUICE_POLICIES(X, crossEntropyGrad, RowArgs)                                                                        \
  X(sluice_normVectorsEnd, normVectorsEnd, RowArgs)                                                                    \
  X(sluice_crossEntropyEnd, crossEntropyEnd, RowArgs)                                                                  \
  X(sluice_crossEntropyFactor, crossEntropyFactor, RowArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_ROWS_H
