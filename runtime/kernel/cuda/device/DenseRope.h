//===- DenseRope.h - rotary positions over dense heads ------------------------------------------------===//
//
// The fast form of `rope` in Numbered.h. A block computes the rows of one position and keeps its sines and cosines in
// shared memory, each computed once: the angle in turns is position * (hi + lo), where hi + lo is the frequency / 2 pi
// rounded to two floats; its nearest integer is subtracted before the angle is rounded, so the error is that of f32 at
// an angle of at most pi. Positions are below 2^24.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSEROPE_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSEROPE_H

#include "runtime/base/cuda/Vector.h"
#include "runtime/kernel/cuda/device/Numbered.h"

namespace sluice::cuda {

inline constexpr unsigned denseRopePositions = 1u << 24;

struct DenseRopeArgs {
  const void *x = nullptr;
  void *y = nullptr;
  /// Strides of batch, position and head, in vectors; the elements of a head are neighbours.
  unsigned xStrides[3] = {}, yStrides[3] = {};
  unsigned batches = 0, heads = 0, half = 0;
  unsigned position = 0;
  int inverse = 0;
  /// frequency / 2 pi
  float turns[ropeFrequencies] = {}, turnsRest[ropeFrequencies] = {};
};

SLUICE_DEVICE float fractionOfTurns(float position, float turns, float rest) {
  const float product = position * turns, lost = fmaf(position, turns, -product);
  return (product - rintf(product)) + fmaf(position, rest, lost);
}

#ifdef __CUDACC__
SLUICE_DEVICE float cosineOfTurns(float turns) { return cospif(2 * turns); }
SLUICE_DEVICE float sineOfTurns(float turns) { return sinpif(2 * turns); }
#else
inline float cosineOfTurns(float turns) { return cosf(6.2831853071795864769f * turns); }
inline float sineOfTurns(float turns) { return sinf(6.2831853071795864769f * turns); }
#endif

template <typename S> SLUICE_DEVICE void denseRope(const DenseRopeArgs &args, Lane lane) {
  constexpr unsigned n = vectorWidth<S>;
  const auto t = static_cast<unsigned>(lane.block()), thread = static_cast<unsigned>(lane.thread()),
             threads = static_cast<unsigned>(lane.threads());
  // [element of the vector][vector]: neighbours are in different banks.
  float *cosines = lane.shared<float>(), *sines = cosines + args.half;
  const unsigned vectors = args.half / n, count = args.batches * args.heads * vectors;
  for (unsigned i = thread; i < args.half; i += threads) {
    const float turns = fractionOfTurns(static_cast<float>(args.position + t), args.turns[i], args.turnsRest[i]);
    const unsigned at = i % n * vectors + i / n;
    cosines[at] = cosineOfTurns(turns);
    sines[at] = args.inverse ? -sineOfTurns(turns) : sineOfTurns(turns);
  }
  lane.sync();
  for (unsigned item = thread; item < count; item += threads) {
    const unsigned v = item % vectors, h = item / vectors % args.heads, b = item / vectors / args.heads;
    const unsigned from = b * args.xStrides[0] + t * args.xStrides[1] + h * args.xStrides[2] + v,
                   to = b * args.yStrides[0] + t * args.yStrides[1] + h * args.yStrides[2] + v;
    float low[n], high[n], first[n], second[n];
    loadVector<S>(args.x, from, low);
    loadVector<S>(args.x, from + vectors, high);
    for (unsigned k = 0; k < n; ++k) {
      const float cosine = cosines[k * vectors + v], sine = sines[k * vectors + v];
      first[k] = low[k] * cosine - high[k] * sine;
      second[k] = high[k] * cosine + low[k] * sine;
    }
    storeVector<S>(args.y, to, first);
    storeVector<S>(args.y, to + vectors, second);
  }
}

} // namespace sluice::cuda

#define SLUICE_DENSE_ROPE_KERNELS(X) SLUICE_STORED(X, denseRope, DenseRopeArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSEROPE_H
