//===- LossAndGradient.h - cross entropy and its gradient in one pass ---------------------------------------===//
//
// A block computes rows at distances of the grid. cp.async copies the vectors of a row to shared memory. Each thread
// adds the exponentials of the vectors that it copied, as in DenseLosses.h, and the block those of its threads. Then
// each thread writes the gradient of its vectors, and in place of each begins to copy that of the block's next row: the
// logits are read once, and memory is read while it is written. A thread reads the vectors that it copied itself, so
// only the sums of a row need barriers.
//
// Rows begin at multiples of 16 bytes. Thread t of T has vectors t, t + T, .., and element t after the last vector.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_LOSSANDGRADIENT_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_LOSSANDGRADIENT_H

#include "runtime/kernel/cuda/device/DenseLosses.h"

namespace sluice::cuda {

struct LossAndGradientArgs {
  DenseLossArgs of;
  /// The factor of all gradients.
  const double *factor = nullptr;
  unsigned rows = 0;
};

inline constexpr int lossAndGradientThreads = 512;

/// Bytes of shared memory of a block for rows of this many vectors.
constexpr std::int64_t lossAndGradientShared(std::int64_t vectors) { return reduceBytes + vectors * vectorBytes; }

template <typename S> SLUICE_DEVICE void crossEntropyAndGrad(const LossAndGradientArgs &all, Lane lane) {
  constexpr int n = vectorWidth<S>;
  const DenseLossArgs &args = all.of;
  const unsigned columns = args.columns, count = columns / n;
  const auto thread = static_cast<unsigned>(lane.thread()), threads = static_cast<unsigned>(lane.threads()),
             step = static_cast<unsigned>(lane.blocks());
  // The element after the last vector, of threads that have one.
  const unsigned extra = count * n + thread;
  const float share = static_cast<float>(args.share), ofTarget = share + (1 - static_cast<float>(args.smoothing));
  unsigned char *copies = lane.shared<unsigned char>() + reduceBytes;
  const auto fetch = [&](const void *x, unsigned v) {
    copyChunk(copies + v * vectorBytes, static_cast<const unsigned char *>(x) + v * vectorBytes, true, lane);
  };

  unsigned row = static_cast<unsigned>(lane.block());
  const void *x = rowOf<S>(args.logits, row, args.pitch);
  for (unsigned v = thread; v < count; v += threads)
    fetch(x, v);
  commitCopies(lane);
  Index target = args.target(row);
  float last = extra < columns ? loadStored<S>(x, extra) : 0;
  while (row < all.rows) {
    const bool isClass = target >= 0 && target < columns;
    // Loaded before the sums: they do not wait for it.
    const float chosen = thread == 0 && isClass ? loadStored<S>(x, static_cast<unsigned>(target)) : 0;
    ExponentialSum of;
    float sumOfLogits = 0;
    waitForCopies<0>(lane);
    for (unsigned v = thread; v < count; v += threads) {
      float values[n];
      loadVector<S>(copies, v, values);
      of.add(values);
      if (share != 0)
        for (int k = 0; k < n; ++k)
          sumOfLogits += values[k];
    }
    if (extra < columns) {
      const float one[1] = {last};
      of.add(one);
      sumOfLogits += last;
    }
    const LossOfRow loss(args, of, sumOfLogits, lane);
    if (thread == 0)
      loss.store(args, row, target, chosen);

    void *dx = rowOf<S>(args.dlogits, row, args.dpitch);
    const unsigned next = row + step;
    const bool hasNext = next < all.rows;
    x = rowOf<S>(args.logits, hasNext ? next : row, args.pitch);
    const Index nextTarget = hasNext ? args.target(next) : 0;
    const auto write = [&](auto slope) {
      for (unsigned v = thread; v < count; v += threads) {
        float values[n];
        loadVector<S>(copies, v, values);
        slope(values, v * n);
        storeVector<S>(dx, v, values);
        if (hasNext)
          fetch(x, v);
      }
      commitCopies(lane);
      if (extra < columns) {
        float one[1] = {last};
        slope(one, extra);
        storeStored<S>(dx, extra, one[0]);
        last = hasNext ? loadStored<S>(x, extra) : 0;
      }
    };
    if (target == args.ignore) {
      write([](auto &values, unsigned) {
        for (float &value : values)
          value = 0;
      });
    } else {
      const float factor = isClass ? static_cast<float>(*all.factor) : floatOfBits(0x7fc00000u);
      const unsigned place = isClass ? static_cast<unsigned>(target) : columns;
      write([&](auto &values, unsigned column) {
        constexpr unsigned width = sizeof values / sizeof(float);
        // Of at most one vector: the others compare no elements.
        const bool hasTarget = place - column < width;
        for (unsigned k = 0; k < width; ++k) {
          const float p = probabilityOf<S>(values[k] - loss.total);
          values[k] = (p - (hasTarget && column + k == place ? ofTarget : share)) * factor;
        }
      });
    }
    row = next;
    target = nextTarget;
  }
}

} // namespace sluice::cuda

#define SLUICE_LOSS_AND_GRADIENT_KERNELS(X) SLUICE_STORED(X, crossEntropyAndGrad, LossAndGradientArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_LOSSANDGRADIENT_H
