//===- DenseLosses.h - cross entropy over contiguous rows ------------------------------------------------===//
//
// The fast form of cross entropy in Rows.h. A block computes one row and reads it once: each thread keeps the largest
// of its elements and the sum of exponentials relative to it (Milakov and Gimelshein, "Online normalizer calculation
// for softmax", 2018), then the threads' sums are scaled to the largest of the row and added as by blockReduce. A row
// has a head before its first address that is aligned to 16 bytes and a tail after its last vector: thread t has
// element t of the head, vectors t, t + T, .., and element t of the tail, in this order.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSELOSSES_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSELOSSES_H

#include "runtime/kernel/cuda/device/DenseNorms.h"
#include "runtime/kernel/cuda/device/Exponential.h"

namespace sluice::cuda {

struct DenseLossArgs {
  /// [rows][columns], with a distance in elements from row to row; the gradient may be in the memory of the logits.
  const void *logits = nullptr;
  void *dlogits = nullptr;
  unsigned pitch = 0, dpitch = 0;
  /// Of each row: i32 or i64 classes, and the log of the sum of exponentials.
  const void *targets = nullptr;
  float *lse = nullptr;
  /// The rows' losses, or the factor of all gradients.
  double *scratch = nullptr;
  unsigned columns = 0;
  int targetType = typeI32;
  Index ignore = 0;
  /// The number of all classes, and the first local one.
  Index classes = 0, firstClass = 0;
  /// Label smoothing, in total and for each class.
  double smoothing = 0, share = 0;

  SLUICE_DEVICE Index target(unsigned row) const {
    return targetType == typeI32 ? static_cast<const int *>(targets)[row] : static_cast<const Index *>(targets)[row];
  }
};

/// Vectors of a row between its head and its tail.
template <typename S> struct Aligned {
  static constexpr int n = vectorWidth<S>;
  const void *body;
  unsigned head, vectors, tail;

  SLUICE_DEVICE Aligned(const void *row, unsigned columns) {
    const auto past = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(row) % vectorBytes) / bytesOfStored<S>;
    head = past == 0 ? 0 : n - past;
    head = head < columns ? head : columns;
    vectors = (columns - head) / n;
    tail = head + vectors * n;
    body = static_cast<const typename S::Memory *>(row) + head;
  }
};

/// The largest of some numbers, ignoring NaN, and the sum of their exponentials relative to it.
struct ExponentialSum {
  float largest, sum;

  SLUICE_DEVICE ExponentialSum() : largest(-infinityOf(0.0f)), sum(0) {}
  /// Exponentials are relative to 0 if all numbers are -inf.
  SLUICE_DEVICE static float originOf(float largest) { return largest == -infinityOf(0.0f) ? 0 : largest; }
  template <int n> SLUICE_DEVICE void add(const float (&x)[n]) {
    float most = x[0];
    for (int k = 1; k < n; ++k)
      most = fmaxf(most, x[k]);
    most = fmaxf(largest, most);
    const float origin = originOf(most);
    float more = 0;
    for (int k = 0; k < n; ++k)
      more += exponentialOf(x[k] - origin);
    sum = fmaf(sum, exponentialOf(largest - origin), more);
    largest = most;
  }
};

/// The log of a row's sum of exponentials and what its loss needs, over the threads of a block.
struct LossOfRow {
  float total, logits;

  /// `logits`: the sum of the thread's logits, read with label smoothing only.
  SLUICE_DEVICE LossOfRow(const DenseLossArgs &args, const ExponentialSum &of, float logits, Lane lane)
      : logits(logits) {
    const float largest = blockReduce(lane, of.largest, MaxOf());
    const float sum = blockReduce(lane, of.sum * exponentialOf(of.largest - ExponentialSum::originOf(largest)), Add());
    if (args.smoothing != 0)
      this->logits = blockReduce(lane, logits, Add());
    total = isFinite(largest) ? largest + logOf(sum) : largest < 0 && sum != sum ? sum : largest;
  }
  /// By one thread; `chosen` is the target's logit.
  SLUICE_DEVICE void store(const DenseLossArgs &args, unsigned row, Index target, float chosen) const {
    args.lse[row] = total;
    double loss = 0;
    if (target != args.ignore)
      loss = target < 0 || target >= args.columns
                 ? static_cast<double>(floatOfBits(0x7fc00000u))
                 : static_cast<double>(total) - (1 - args.smoothing) * static_cast<double>(chosen) -
                       args.share * static_cast<double>(logits);
    args.scratch[row] = loss;
  }
};

template <typename S> SLUICE_DEVICE void denseCrossEntropy(const DenseLossArgs &args, Lane lane) {
  constexpr int n = vectorWidth<S>;
  // Vectors in flight.
  constexpr unsigned together = 4;
  const unsigned row = static_cast<unsigned>(lane.block()), columns = args.columns;
  const void *x = rowOf<S>(args.logits, row, args.pitch);
  const Aligned<S> parts(x, columns);
  const auto thread = static_cast<unsigned>(lane.thread()), threads = static_cast<unsigned>(lane.threads());
  const bool smooths = args.smoothing != 0;
  // The target and its logit are loaded first: the sums do not wait for them.
  Index target = args.ignore;
  float chosen = 0;
  if (thread == 0) {
    target = args.target(row);
    if (target >= 0 && target < columns)
      chosen = loadStored<S>(x, static_cast<unsigned>(target));
  }
  ExponentialSum of;
  float all = 0;
  const auto addOne = [&](unsigned column) {
    const float one[1] = {loadStored<S>(x, column)};
    of.add(one);
    all += one[0];
  };
  if (thread < parts.head)
    addOne(thread);
  const auto *body = static_cast<const RawOf<S, n> *>(parts.body);
  for (unsigned first = thread; first < parts.vectors; first += together * threads) {
    RawOf<S, n> raw[together] = {};
    for (unsigned i = 0; i < together; ++i)
      if (first + i * threads < parts.vectors)
        raw[i] = body[first + i * threads];
    for (unsigned i = 0; i < together; ++i) {
      if (first + i * threads >= parts.vectors)
        break;
      float values[n];
      widenVector<S>(raw[i], values);
      of.add(values);
      if (smooths)
        for (int k = 0; k < n; ++k)
          all += values[k];
    }
  }
  if (parts.tail + thread < columns)
    addOne(parts.tail + thread);
  const LossOfRow loss(args, of, all, lane);
  if (thread == 0)
    loss.store(args, row, target, chosen);
}

/// slope(logit, column) of each element of a row.
template <typename S, typename Slope>
SLUICE_DEVICE void mapLogits(const void *x, void *dx, unsigned columns, Slope slope, Lane lane) {
  constexpr int n = vectorWidth<S>;
  // Vectors in flight.
  constexpr unsigned together = 2;
  Aligned<S> parts(x, columns);
  // Vectors need both addresses to be aligned at the same columns.
  if (Aligned<S>(dx, columns).head != parts.head) {
    parts.vectors = 0;
    parts.tail = parts.head;
  }
  void *body = static_cast<typename S::Memory *>(dx) + parts.head;
  const auto thread = static_cast<unsigned>(lane.thread()), threads = static_cast<unsigned>(lane.threads());
  if (thread < parts.head)
    storeStored<S>(dx, thread, slope(loadStored<S>(x, thread), thread));
  const auto *from = static_cast<const RawOf<S, n> *>(parts.body);
  for (unsigned first = thread; first < parts.vectors; first += together * threads) {
    RawOf<S, n> raw[together] = {};
    for (unsigned i = 0; i < together; ++i)
      if (first + i * threads < parts.vectors)
        raw[i] = from[first + i * threads];
    for (unsigned i = 0; i < together; ++i) {
      const unsigned v = first + i * threads, column = parts.head + v * n;
      if (v >= parts.vectors)
        break;
      float values[n];
      widenVector<S>(raw[i], values);
      for (int k = 0; k < n; ++k)
        values[k] = slope(values[k], column + static_cast<unsigned>(k));
      storeVector<S>(body, v, values);
    }
  }
  for (unsigned column = parts.tail + thread; column < columns; column += threads)
    storeStored<S>(dx, column, slope(loadStored<S>(x, column), column));
}

template <typename S> SLUICE_DEVICE void denseCrossEntropyGrad(const DenseLossArgs &args, Lane lane) {
  const unsigned row = static_cast<unsigned>(lane.block()), columns = args.columns;
  const void *x = rowOf<S>(args.logits, row, args.pitch);
  void *dx = rowOf<S>(args.dlogits, row, args.dpitch);
  const Index target = args.target(row);
  if (target == args.ignore) {
    mapLogits<S>(x, dx, columns, [](float, unsigned) { return 0.0f; }, lane);
    return;
  }
  const float total = args.lse[row];
  const float factor =
      target < 0 || target >= args.classes ? floatOfBits(0x7fc00000u) : static_cast<float>(*args.scratch);
  const Index local = target - args.firstClass;
  const unsigned place = local >= 0 && local < columns ? static_cast<unsigned>(local) : columns;
  const float share = static_cast<float>(args.share), ofTarget = share + (1 - static_cast<float>(args.smoothing));
  const auto slope = [=](float value, unsigned column) {
    return (probabilityOf<S>(value - total) - (column == place ? ofTarget : share)) * factor;
  };
  mapLogits<S>(x, dx, columns, slope, lane);
}

} // namespace sluice::cuda

#define SLUICE_DENSE_LOSS_KERNELS(X)                                                                                   \
  SLUICE_STORED(X, denseCrossEntropy, DenseLossArgs)                                                                   \
  SLUICE_STORED(X, denseCrossEntropyGrad, DenseLossArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSELOSSES_H
