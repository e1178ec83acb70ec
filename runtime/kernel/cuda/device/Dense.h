//===- Dense.h - element by element over dense operands of one extent ------------------------------===//
//
// The fast form of Pointwise.h. Thread t of all threads computes the vectors t, t + threads, ..; the last elements,
// which do not fill a vector, are computed one by one, and all are if an address is not aligned to 16 bytes.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSE_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSE_H

#include "runtime/base/cuda/Vector.h"
#include "runtime/kernel/cuda/device/Pointwise.h"

namespace sluice::cuda {

struct DenseArgs {
  void *y[2] = {};
  const void *x[3] = {};
  unsigned count = 0;
  /// Elements of the second input, which repeats; a multiple of a vector, or `count`.
  unsigned period = 0;
  int operation = 0;
  float p = 0, q = 0;
};

/// f(x0, x1, x2, y0, y1) for each element; inputs are stored as X0, X1 and X2, outputs as Y.
template <typename X0, typename X1, typename X2, typename Y, int inputs, int outputs, typename F>
SLUICE_DEVICE void mapDense(const DenseArgs &args, Lane lane, F f) {
  constexpr int n = vectorWidth<X0, X1, X2, Y>;
  const unsigned first = static_cast<unsigned>(lane.block()) * lane.threads() + lane.thread(),
                 step = static_cast<unsigned>(lane.blocks()) * lane.threads();
  bool aligned = isVectorAligned(args.y[0]) && isVectorAligned(args.x[0]);
  if constexpr (inputs > 1)
    aligned = aligned && isVectorAligned(args.x[1]);
  if constexpr (inputs > 2)
    aligned = aligned && isVectorAligned(args.x[2]);
  if constexpr (outputs > 1)
    aligned = aligned && isVectorAligned(args.y[1]);
  const unsigned vectors = aligned ? args.count / n : 0, vectorPeriod = args.period / n;
  // Vectors of a single input in flight.
  constexpr unsigned together = inputs == 1 ? 2 : 1;
  const auto *data = static_cast<const RawOf<X0, n> *>(args.x[0]);
  for (unsigned begin = first; begin < vectors; begin += together * step) {
    RawOf<X0, n> raw[together] = {};
    for (unsigned i = 0; i < together; ++i)
      if (begin + i * step < vectors)
        raw[i] = data[begin + i * step];
    for (unsigned i = 0; i < together; ++i) {
      const unsigned v = begin + i * step;
      if (v >= vectors)
        break;
      float x[3][n] = {}, y[2][n];
      widenVector<X0>(raw[i], x[0]);
      if constexpr (inputs > 1)
        loadVector<X1>(args.x[1], args.period == args.count ? v : v % vectorPeriod, x[1]);
      if constexpr (inputs > 2)
        loadVector<X2>(args.x[2], v, x[2]);
      for (int k = 0; k < n; ++k)
        f(x[0][k], x[1][k], x[2][k], y[0][k], y[1][k]);
      storeVector<Y>(args.y[0], v, y[0]);
      if constexpr (outputs > 1)
        storeVector<Y>(args.y[1], v, y[1]);
    }
  }
  for (unsigned i = vectors * n + first; i < args.count; i += step) {
    float x[3] = {loadStored<X0>(args.x[0], i), 0, 0}, y[2];
    if constexpr (inputs > 1)
      x[1] = loadStored<X1>(args.x[1], args.period == args.count ? i : i % args.period);
    if constexpr (inputs > 2)
      x[2] = loadStored<X2>(args.x[2], i);
    f(x[0], x[1], x[2], y[0], y[1]);
    storeStored<Y>(args.y[0], i, y[0]);
    if constexpr (outputs > 1)
      storeStored<Y>(args.y[1], i, y[1]);
  }
}

/// One loop for each operation: its choice is outside of the loop. Sine and cosine have no dense form: for large
/// numbers nvcc computes them in f64.
template <typename S, Unary... all> SLUICE_DEVICE void unaryDenseOf(const DenseArgs &args, Lane lane) {
  ((args.operation == static_cast<int>(all)
        ? mapDense<S, S, S, S, 1, 1>(
              args, lane, [p = args.p](float x, float, float, float &y, float &) { y = unaryOf<float>(all, x, p); })
        : void()),
   ...);
}
template <typename S> SLUICE_DEVICE void unaryDense(const DenseArgs &args, Lane lane) {
  using enum Unary;
  unaryDenseOf<S, negate, exp, log, tanh, erf, sqrt, rsqrt, relu, sigmoid, softplus, power, scale, identity, geluErf,
               geluTanh, silu>(args, lane);
}

template <typename S, Binary... all> SLUICE_DEVICE void binaryDenseOf(const DenseArgs &args, Lane lane) {
  ((args.operation == static_cast<int>(all)
        ? mapDense<S, S, S, S, 2, 1>(args, lane,
                                     [p = args.p, q = args.q](float a, float b, float, float &y, float &) {
                                       y = binaryOf<float>(all, a, b, p, q);
                                     })
        : void()),
   ...);
}
template <typename S> SLUICE_DEVICE void binaryDense(const DenseArgs &args, Lane lane) {
  using enum Binary;
  binaryDenseOf<S, add, subtract, multiply, divide, maximum, reluGrad, geluErfGrad, geluTanhGrad, siluGrad, swiglu,
                runningAverage>(args, lane);
}

/// dy, gate, up -> dgate, dup
template <typename S> SLUICE_DEVICE void swigluGradDense(const DenseArgs &args, Lane lane) {
  mapDense<S, S, S, S, 3, 2>(args, lane, [](float dy, float gate, float up, float &dgate, float &dup) {
    const Silu<float> silu(gate);
    dgate = dy * up * silu.slope;
    dup = dy * silu.value;
  });
}

template <typename X, typename Y> SLUICE_DEVICE void castDense(const DenseArgs &args, Lane lane) {
  mapDense<X, X, X, Y, 1, 1>(args, lane, [](float x, float, float, float &y, float &) { y = x; });
}

/// Dense tensors that one launch casts, as many as the launch needs separate blocks for: `span` elements each.
inline constexpr int listedCasts = 64;
struct ListedCast {
  void *y = nullptr;
  const void *x = nullptr;
  unsigned count = 0;
  int firstBlock = 0;
};
struct CastListArgs {
  ListedCast casts[listedCasts];
  int count = 0;
  /// A multiple of a vector.
  unsigned span = 0;
};
static_assert(sizeof(CastListArgs) <= 4096);

template <typename X, typename Y> SLUICE_DEVICE void castList(const CastListArgs &args, Lane lane) {
  constexpr int n = vectorWidth<X, Y>;
  const int block = static_cast<int>(lane.block());
  int at = 0;
  while (at + 1 < args.count && args.casts[at + 1].firstBlock <= block)
    ++at;
  const ListedCast &listed = args.casts[at];
  const auto thread = static_cast<unsigned>(lane.thread()), threads = static_cast<unsigned>(lane.threads());
  const unsigned begin = static_cast<unsigned>(block - listed.firstBlock) * args.span;
  const unsigned end = listed.count - begin < args.span ? listed.count : begin + args.span;
  const bool aligned = isVectorAligned(listed.x) && isVectorAligned(listed.y);
  const unsigned vectorsEnd = aligned ? end / n : begin / n;
  // Vectors in flight.
  constexpr unsigned together = 4;
  const auto *data = static_cast<const RawOf<X, n> *>(listed.x);
  for (unsigned first = begin / n + thread; first < vectorsEnd; first += together * threads) {
    RawOf<X, n> raw[together] = {};
    for (unsigned i = 0; i < together; ++i)
      if (first + i * threads < vectorsEnd)
        raw[i] = data[first + i * threads];
    for (unsigned i = 0; i < together; ++i) {
      if (first + i * threads >= vectorsEnd)
        break;
      float x[n];
      widenVector<X>(raw[i], x);
      storeVector<Y>(listed.y, first + i * threads, x);
    }
  }
  for (unsigned i = vectorsEnd * n + thread; i < end; i += threads)
    storeStored<Y>(listed.y, i, loadStored<X>(listed.x, i));
}

/// x, y -> y + x
template <typename X, typename Y> SLUICE_DEVICE void accumulateDense(const DenseArgs &args, Lane lane) {
  mapDense<X, Y, Y, Y, 2, 1>(args, lane, [](float x, float old, float, float &y, float &) { y = x + old; });
}

} // namespace sluice::cuda

#define SLUICE_DENSE_KERNELS(X)                                                                                        \
  SLUICE_STORED(X, unaryDense, DenseArgs)                                                                              \
  SLUICE_STORED(X, binaryDense, DenseArgs)                                                                             \
  SLUICE_STORED(X, swigluGradDense, DenseArgs)                                                                         \
  SLUICE_STORED_PAIRS(X, castDense, DenseArgs)                                                                         \
  SLUICE_STORED_PAIRS(X, castList, CastListArgs)                                                                       \
  SLUICE_STORED_PAIRS(X, accumulateDense, DenseArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSE_H
