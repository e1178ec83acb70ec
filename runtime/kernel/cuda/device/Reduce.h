//===- Reduce.h - sums and maxima over dims, and over a list of tensors ------------------------===//
//
// Sums are in double. With many results each thread adds one result's elements, row-major over the reduced dims; with
// few results a block does, each thread adding every n-th element in order, then blockReduce.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_REDUCE_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_REDUCE_H

#include "runtime/base/cuda/Vector.h"
#include "runtime/kernel/cuda/device/WriteResult.h"

namespace sluice::cuda {

struct ReduceArgs {
  /// Kept dims with the input's strides; reduced dims with the input's; kept dims with the output's.
  View outer, inner, y;
  Index outputs = 0, terms = 0;
  int largest = 0;
  double divisor = 1;
  /// True if y holds a sum, to which the result is added.
  bool adds = false;
  /// Power sums: exponent, and scratch memory of this tensor.
  double p = 2;
  double *partial = nullptr;
};

template <typename E> SLUICE_DEVICE double reduceTerms(const ReduceArgs &args, Index at, Index first, Index step) {
  double result = args.largest ? -infinityOf(0.0) : 0;
  for (Index i = first; i < args.terms; i += step) {
    const double x = E::read(args.outer, at + offsetIn(args.inner, args.inner.rank, i));
    result = args.largest ? Largest()(result, x) : result + x;
  }
  return result;
}

template <typename E> SLUICE_DEVICE void reduceByThread(const ReduceArgs &args, Lane lane) {
  const Index output = lane.block() * lane.threads() + lane.thread();
  if (output >= args.outputs)
    return;
  const double result = reduceTerms<E>(args, offsetIn(args.outer, args.outer.rank, output), 0, 1);
  writeResult(args.y, offsetIn(args.y, args.y.rank, output), result / args.divisor, args.adds);
}

template <typename E> SLUICE_DEVICE void reduceByBlock(const ReduceArgs &args, Lane lane) {
  double result =
      reduceTerms<E>(args, offsetIn(args.outer, args.outer.rank, lane.block()), lane.thread(), lane.threads());
  result = args.largest ? blockReduce(lane, result, Largest()) : blockReduce(lane, result, Add());
  if (lane.thread() == 0)
    writeResult(args.y, offsetIn(args.y, args.y.rank, lane.block()), result / args.divisor, args.adds);
}

/// One number per block: the sum of |x|^p, or the largest |x|.
inline constexpr int powerBlocks = 256;

SLUICE_DEVICE double addPower(double sum, double value, double p, bool largest) {
  const double size = fabs(value);
  return largest ? Largest()(sum, size) : sum + (p == 2 ? size * size : p == 1 ? size : pow(size, p));
}

template <typename E> SLUICE_DEVICE void powerSum(const ReduceArgs &args, Lane lane) {
  double result = 0;
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < args.terms; i += lane.blocks() * lane.threads())
    result = addPower(result, E::read(args.inner, offsetIn(args.inner, args.inner.rank, i)), args.p, args.largest != 0);
  result = args.largest ? blockReduce(lane, result, Largest()) : blockReduce(lane, result, Add());
  if (lane.thread() == 0)
    args.partial[lane.block()] = result;
}

/// One launch reduces many dense tensors, as many as fit the 4 KB of a launch's arguments. Each tensor has separate
/// blocks, `powerElements` of its elements or more for each. A thread adds its vectors in order, then its elements
/// after the last vector.
inline constexpr int listedTensors = 96;
inline constexpr int powerThreads = 512;
inline constexpr Index powerElements = 16384;
struct ListedTensor {
  void *data = nullptr;
  Index count = 0;
  int type = typeF32;
  /// The first block in this launch, and the first of all partial results.
  int firstBlock = 0, firstPartial = 0;
};
struct PowerListArgs {
  ListedTensor tensors[listedTensors];
  int count = 0, largest = 0;
  double p = 2;
  double *partial = nullptr;
};
static_assert(sizeof(PowerListArgs) <= 4096);

/// add(sum, value) over the elements of thread `first` of `step` threads.
template <typename E, typename AddTo>
SLUICE_DEVICE double sumOfListed(const ListedTensor &tensor, Index first, Index step, AddTo add) {
  double result = 0;
  Index done = 0;
  if constexpr (isStored<E>) {
    using S = StoredAs<E>;
    constexpr int n = vectorWidth<S>;
    // Loads in flight, 64 bytes a thread: the f64 sums take less time than one load after the other would.
    constexpr int together = 4;
    const Index vectors = isVectorAligned(tensor.data) ? tensor.count / n : 0;
    const auto *data = static_cast<const RawOf<S, n> *>(tensor.data);
    for (Index v = first; v < vectors; v += together * step) {
      RawOf<S, n> raw[together] = {};
      for (int i = 0; i < together; ++i)
        if (v + i * step < vectors)
          raw[i] = data[v + i * step];
      for (int i = 0; i < together; ++i) {
        if (v + i * step >= vectors)
          break;
        float x[n];
        widenVector<S>(raw[i], x);
        for (int k = 0; k < n; ++k)
          result = add(result, static_cast<double>(x[k]));
      }
    }
    done = vectors * n;
  }
  View view;
  view.data = tensor.data;
  view.type = tensor.type;
  for (Index i = done + first; i < tensor.count; i += step)
    result = add(result, E::read(view, i));
  return result;
}

template <typename E> SLUICE_DEVICE void powerSumOfList(const PowerListArgs &args, Lane lane) {
  const int block = static_cast<int>(lane.block());
  // The last tensor whose first block is not after this one: at least `at`, before `after`.
  int at = 0, after = args.count;
  while (at + 1 < after) {
    const int middle = (at + after) / 2;
    (args.tensors[middle].firstBlock <= block ? at : after) = middle;
  }
  const ListedTensor &tensor = args.tensors[at];
  const int end = at + 1 < args.count ? args.tensors[at + 1].firstBlock : static_cast<int>(lane.blocks());
  const int own = block - tensor.firstBlock;
  const Index first = own * lane.threads() + lane.thread(), step = Index(end - tensor.firstBlock) * lane.threads();
  // One loop for each operation: its choice is outside of the loop.
  const auto over = [&](auto add) { return sumOfListed<E>(tensor, first, step, add); };
  const double p = args.p;
  double result = args.largest ? over([](double sum, double x) { return addPower(sum, x, 0, true); })
                  : p == 2     ? over([](double sum, double x) { return addPower(sum, x, 2, false); })
                  : p == 1     ? over([](double sum, double x) { return addPower(sum, x, 1, false); })
                               : over([p](double sum, double x) { return addPower(sum, x, p, false); });
  result = args.largest ? blockReduce(lane, result, Largest()) : blockReduce(lane, result, Add());
  if (lane.thread() == 0)
    args.partial[tensor.firstPartial + own] = result;
}
/// Combines `terms` partial results to y. One block.
SLUICE_DEVICE void powerSumEnd(const ReduceArgs &args, Lane lane) {
  const auto load = [&](Index i) { return args.partial[i]; };
  const double result = args.largest ? blockReduceOf(lane, args.terms, 0.0, Largest(), load)
                                     : blockReduceOf(lane, args.terms, 0.0, Add(), load);
  if (lane.thread() == 0)
    writeAny(args.y, 0, result);
}

/// Scalars of a step.
enum class Scalar : int { normRoot, clipCoefficient };
struct ScalarArgs {
  View x, y;
  int operation = 0;
  double p = 0;
  /// all_finite: combine with the result of the earlier inputs.
  int isContinued = 0;
};
SLUICE_DEVICE void scalar(const ScalarArgs &args, Lane lane) {
  if (lane.thread() != 0)
    return;
  const double x = readAny(args.x, 0);
  if (static_cast<Scalar>(args.operation) == Scalar::clipCoefficient) {
    const double coefficient = args.p / (x + 1e-6);
    writeAny(args.y, 0, coefficient > 1 ? 1 : coefficient);
  } else {
    writeAny(args.y, 0, !isFinite(args.p) || args.p == 1 ? x : args.p == 2 ? sqrt(x) : pow(x, 1 / args.p));
  }
}
/// One block.
SLUICE_DEVICE void allFinite(const ScalarArgs &args, Lane lane) {
  int bad = 0;
  const Index count = countOf(args.x);
  for (Index i = lane.thread(); i < count; i += lane.threads())
    bad |= !isFinite(readAny(args.x, offsetIn(args.x, args.x.rank, i)));
  bad = blockReduce(lane, bad, Or());
  if (lane.thread() == 0) {
    auto *y = static_cast<unsigned char *>(args.y.data);
    *y = !bad && (!args.isContinued || *y);
  }
}

} // namespace sluice::cuda

#define SLUICE_REDUCE_KERNELS(X)                                                                                       \
  SLUICE_POLICIES(X, reduceByThread, ReduceArgs)                                                                       \
  SLUICE_POLICIES(X, reduceByBlock, ReduceArgs)                                                                        \
  SLUICE_POLICIES(X, powerSum, ReduceArgs)                                                                             \
  SLUICE_POLICIES(X, powerSumOfList, PowerListArgs)                                                                    \
  X(sluice_powerSumEnd, powerSumEnd, ReduceArgs)                                                                       \
  X(sluice_scalar, scalar, ScalarArgs)                                                                                 \
  X(sluice_allFinite, allFinite, ScalarArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_REDUCE_H
