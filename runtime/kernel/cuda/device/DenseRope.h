//===- DenseRope.h - rotary positions over dense heads ------------------------------------------------===//
//
// The fast form of `rope` in Numbered.h. A block computes the rows of one position, of all tensors of a list, and keeps
// the sines and cosines in shared memory, each computed once: the angle in turns is position * (hi + lo), where hi + lo
// is the frequency / 2 pi rounded to two floats; its nearest integer is subtracted before the angle is rounded, so the
// error is that of f32 at an angle of at most pi. Positions are below 2^24.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSEROPE_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSEROPE_H

#include "runtime/base/cuda/Vector.h"
#include "runtime/kernel/cuda/device/Numbered.h"

namespace sluice::cuda {

inline constexpr unsigned denseRopePositions = 1u << 24;
/// Of a block, at least the vectors of half a head. The sines and cosines of a thread are in its registers, so that an
/// SM runs 1,280 threads: as ten blocks, so that those of 1,024 positions run at once.
inline constexpr int ropeThreads = 128;
static_assert(ropeFrequencies / 4 <= ropeThreads);

/// One tensor of a list: queries and keys, say.
struct RotatedHeads {
  const void *x = nullptr;
  void *y = nullptr;
  /// Strides of batch, position and head, in vectors; the elements of a head are neighbours.
  unsigned xStrides[3] = {}, yStrides[3] = {};
  unsigned batches = 0, heads = 0;
};

inline constexpr std::size_t listedRopes = 2;
struct DenseRopeArgs {
  RotatedHeads of[listedRopes];
  unsigned count = 0, half = 0, position = 0;
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

/// The heads of the block's position: a thread has one vector of a head, of every `each`-th head of a batch.
template <typename S>
SLUICE_DEVICE void rotateHeads(const RotatedHeads &own, const float *cosines, const float *sines, unsigned vectors,
                               Lane lane) {
  constexpr unsigned n = vectorWidth<S>;
  const auto t = static_cast<unsigned>(lane.block());
  const auto thread = static_cast<unsigned>(lane.thread());
  const unsigned each = static_cast<unsigned>(lane.threads()) / vectors, v = thread % vectors;
  const unsigned heads = thread < each * vectors ? own.batches * own.heads : 0;
  for (unsigned head = thread / vectors; head < heads; head += each) {
    const unsigned b = head / own.heads, h = head - b * own.heads;
    const unsigned from = b * own.xStrides[0] + t * own.xStrides[1] + h * own.xStrides[2] + v,
                   to = b * own.yStrides[0] + t * own.yStrides[1] + h * own.yStrides[2] + v;
    float low[n], high[n], first[n], second[n];
    loadVector<S>(own.x, from, low);
    loadVector<S>(own.x, from + vectors, high);
    for (unsigned k = 0; k < n; ++k) {
      const float cosine = cosines[k * vectors + v], sine = sines[k * vectors + v];
      first[k] = low[k] * cosine - high[k] * sine;
      second[k] = high[k] * cosine + low[k] * sine;
    }
    storeVector<S>(own.y, to, first);
    storeVector<S>(own.y, to + vectors, second);
  }
}

template <typename S> SLUICE_DEVICE void denseRope(const DenseRopeArgs &args, Lane lane) {
  constexpr unsigned n = vectorWidth<S>;
  const auto t = static_cast<unsigned>(lane.block()), thread = static_cast<unsigned>(lane.thread()),
             threads = static_cast<unsigned>(lane.threads());
  // [element of the vector][vector]: neighbours are in different banks.
  float *cosines = lane.shared<float>(), *sines = cosines + args.half;
  const unsigned vectors = args.half / n;
  for (unsigned i = thread; i < args.half; i += threads) {
    const float turns = fractionOfTurns(static_cast<float>(args.position + t), args.turns[i], args.turnsRest[i]);
    const unsigned at = i % n * vectors + i / n;
    cosines[at] = cosineOfTurns(turns);
    sines[at] = args.inverse ? -sineOfTurns(turns) : sineOfTurns(turns);
  }
  lane.sync();
  // Two calls, not a loop: numbers of the arguments that are at fixed places need no registers.
  rotateHeads<S>(args.of[0], cosines, sines, vectors, lane);
  if (args.count > 1)
    rotateHeads<S>(args.of[1], cosines, sines, vectors, lane);
}

} // namespace sluice::cuda

#define SLUICE_DENSE_ROPE_KERNELS(X) SLUICE_STORED(X, denseRope, DenseRopeArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSEROPE_H
