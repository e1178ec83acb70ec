//===- Reduce.h - a reduction between virtual ranks of one GPU --------------------------------------===//
//
// ((x0 + x1) + x2) + ... in order of rank, in the element's own type for f32, f64 and integers, in f32 for bf16 and f16
// (rounded once): the formula of collective/local/Reduce.h, so that a reduction on a GPU equals the CPU's to the bit.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_CUDA_REDUCE_H
#define SLUICE_RUNTIME_COLLECTIVE_CUDA_REDUCE_H

#include "runtime/base/cuda/Element.h"

namespace sluice::cuda {

/// Members of a group.
inline constexpr int maxMembers = 128;

struct MemberReduceArgs {
  /// Of the same elements; a destination may be a source.
  void *source[maxMembers] = {};
  void *destination[maxMembers] = {};
  int sources = 0, destinations = 0;
  Index count = 0;
  /// The values of DType and Reduction.
  int type = 0, op = 0;
  double scale = 1;
};

// The values of Reduction.
inline constexpr int reduceMean = 2, reducePremulSum = 3, reduceMax = 4;

// Multiplying and adding are separate: a fused multiply-add would round differently than the CPU.
#ifdef __CUDA_ARCH__
SLUICE_DEVICE float plus(float a, float b) { return __fadd_rn(a, b); }
SLUICE_DEVICE float times(float a, float b) { return __fmul_rn(a, b); }
SLUICE_DEVICE double plus(double a, double b) { return __dadd_rn(a, b); }
SLUICE_DEVICE double times(double a, double b) { return __dmul_rn(a, b); }
#else
SLUICE_DEVICE float plus(float a, float b) { return a + b; }
SLUICE_DEVICE double plus(double a, double b) { return a + b; }
template <typename T> SLUICE_DEVICE T times(T a, T b) {
  volatile T product = a * b;
  return product;
}
#endif

template <typename E> SLUICE_DEVICE void reduceFloats(const MemberReduceArgs &args, Lane lane) {
  using T = typename E::Real;
  View view;
  view.type = args.type;
  const T scale = static_cast<T>(args.scale);
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < args.count; i += lane.blocks() * lane.threads()) {
    T sum = 0;
    for (int m = 0; m < args.sources; ++m) {
      view.data = args.source[m];
      T x = E::read(view, i);
      if (args.op == reducePremulSum)
        x = times(x, scale);
      sum = m == 0 ? x : args.op == reduceMax ? (x > sum || x != x ? x : sum) : plus(sum, x);
    }
    if (args.op == reduceMean)
      sum = times(sum, T(1) / static_cast<T>(args.sources));
    for (int m = 0; m < args.destinations; ++m) {
      view.data = args.destination[m];
      E::write(view, i, sum);
    }
  }
}

SLUICE_DEVICE void reduceIntegers(const MemberReduceArgs &args, Lane lane) {
  View view;
  view.type = args.type;
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < args.count; i += lane.blocks() * lane.threads()) {
    Index sum = 0;
    for (int m = 0; m < args.sources; ++m) {
      view.data = args.source[m];
      const Index x = readInteger(view, i);
      sum = m == 0 ? x
            : args.op == reduceMax
                ? (x > sum ? x : sum)
                : static_cast<Index>(static_cast<unsigned long long>(sum) + static_cast<unsigned long long>(x));
    }
    if (args.op == reduceMean)
      sum /= args.sources;
    for (int m = 0; m < args.destinations; ++m) {
      view.data = args.destination[m];
      writeInteger(view, i, sum);
    }
  }
}

SLUICE_DEVICE void memberReduce(const MemberReduceArgs &args, Lane lane) {
  if (args.type == typeF64)
    reduceFloats<Wide>(args, lane);
  else if (isFloatType(args.type))
    reduceFloats<Mixed>(args, lane);
  else
    reduceIntegers(args, lane);
}

} // namespace sluice::cuda

#define SLUICE_COLLECTIVE_KERNELS(X) X(sluice_memberReduce, memberReduce, MemberReduceArgs)

#endif // SLUICE_RUNTIME_COLLECTIVE_CUDA_REDUCE_H
