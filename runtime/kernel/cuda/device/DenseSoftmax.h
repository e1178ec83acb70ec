//===- DenseSoftmax.h - softmax over dense rows --------------------------------------------------===//
//
// The fast form of the softmax of Rows.h. A block computes one row after another with the row in registers, as in
// DenseNorms.h: thread t of T has the vectors t, t + T, .. and adds their elements in order; sums over the block are
// those of blockReduce. The result may be in the memory of an operand.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSESOFTMAX_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSESOFTMAX_H

#include "runtime/kernel/cuda/device/DenseNorms.h"

namespace sluice::cuda {

struct DenseSoftmaxArgs {
  /// x -> y, or dy, y -> dx.
  const void *first = nullptr, *second = nullptr;
  void *result = nullptr;
  unsigned rows = 0, columns = 0;
};

/// Calls `body(v, k)` for the elements of a thread's vectors that are in the row.
template <typename Part, int vectors, typename Body>
SLUICE_DEVICE void forElementsOfPart(unsigned count, Lane lane, Body body) {
  for (int v = 0; v < vectors; ++v)
    if (static_cast<unsigned>(v * lane.threads() + lane.thread()) < count)
      for (int k = 0; k < Part::n; ++k)
        body(v, k);
}

template <typename S, int vectors> SLUICE_DEVICE void denseSoftmax(const DenseSoftmaxArgs &args, Lane lane) {
  using Part = RowPart<S, vectors>;
  const unsigned count = args.columns / Part::n;
  for (unsigned row = static_cast<unsigned>(lane.block()); row < args.rows;
       row += static_cast<unsigned>(lane.blocks())) {
    Part x;
    x.load(rowOf<S>(args.first, row, args.columns), count, lane);
    float largest = -infinityOf(0.0F), sum = 0;
    forElementsOfPart<Part, vectors>(count, lane, [&](int v, int k) { largest = maxOf(largest, x.of[v][k]); });
    largest = blockReduce(lane, largest, MaxOf());
    forElementsOfPart<Part, vectors>(count, lane, [&](int v, int k) {
      x.of[v][k] = expOf(x.of[v][k] - largest);
      sum += x.of[v][k];
    });
    sum = blockReduce(lane, sum, Add());
    forElementsOfPart<Part, vectors>(count, lane, [&](int v, int k) { x.of[v][k] /= sum; });
    x.store(rowOf<S>(args.result, row, args.columns), count, lane);
  }
}

template <typename S, int vectors> SLUICE_DEVICE void denseSoftmaxGrad(const DenseSoftmaxArgs &args, Lane lane) {
  using Part = RowPart<S, vectors>;
  const unsigned count = args.columns / Part::n;
  for (unsigned row = static_cast<unsigned>(lane.block()); row < args.rows;
       row += static_cast<unsigned>(lane.blocks())) {
    Part dy, y;
    dy.load(rowOf<S>(args.first, row, args.columns), count, lane);
    y.load(rowOf<S>(args.second, row, args.columns), count, lane);
    float sum = 0;
    forElementsOfPart<Part, vectors>(count, lane, [&](int v, int k) { sum += dy.of[v][k] * y.of[v][k]; });
    sum = blockReduce(lane, sum, Add());
    forElementsOfPart<Part, vectors>(count, lane, [&](int v, int k) { y.of[v][k] *= dy.of[v][k] - sum; });
    y.store(rowOf<S>(args.result, row, args.columns), count, lane);
  }
}

} // namespace sluice::cuda

#define SLUICE_DENSE_SOFTMAX_KERNELS(X)                                                                                \
  SLUICE_ROW_PARTS(X, denseSoftmax, DenseSoftmaxArgs)                                                                  \
  SLUICE_ROW_PARTS(X, denseSoftmaxGrad, DenseSoftmaxArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSESOFTMAX_H
