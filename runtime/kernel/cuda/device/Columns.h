//===- Columns.h - sums of the columns of a dense matrix ------------------------------------------===//
//
// In two stages, in float. The rows are divided into runs of equal length (CudaWorkspace.h). A block adds the rows of
// one run in a tile of columns: warp w of W adds rows w, w + W, .. of the run in order, then the warps' sums are added
// in order. The second stage adds the runs in the same way: warp w adds runs w, w + W, .., then the warps' sums. A
// single run has no second stage.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_COLUMNS_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_COLUMNS_H

#include "runtime/base/cuda/Vector.h"
#include "runtime/kernel/cuda/device/WriteResult.h"

namespace sluice::cuda {

struct ColumnsArgs {
  /// [rows][columns]; the runs' sums are [runs][columns].
  const void *x = nullptr;
  float *partial = nullptr;
  View y;
  unsigned rows = 0, columns = 0, runs = 1;
  float factor = 1;
  /// True if y holds a sum, to which the result is added.
  bool adds = false;
};

inline constexpr int columnsThreads = 256, columnsWarps = columnsThreads / warpSize;
/// Of the second stage.
inline constexpr int runsThreads = 512, runsWarps = runsThreads / warpSize;

inline constexpr int columnsShared = 8 * (columnsWarps * warpSize + 4) * 4;
inline constexpr int runsShared = runsWarps * warpSize * 4;

template <typename S> SLUICE_DEVICE void columnSums(const ColumnsArgs &args, Lane lane) {
  constexpr int n = vectorWidth<S>;
  const unsigned vectors = args.columns / n, tiles = (vectors + warpSize - 1) / warpSize;
  const unsigned block = static_cast<unsigned>(lane.block()), run = block / tiles;
  const unsigned warp = static_cast<unsigned>(lane.thread()) / warpSize,
                 inWarp = static_cast<unsigned>(lane.thread()) % warpSize;
  const unsigned vector = block % tiles * warpSize + inWarp;
  const unsigned length = (args.rows + args.runs - 1) / args.runs, begin = run * length;
  const unsigned end = begin + length < args.rows ? begin + length : args.rows;
  float sum[n] = {};
  if (vector < vectors)
    for (unsigned row = begin + warp; row < end; row += columnsWarps) {
      float x[n];
      loadVector<S>(static_cast<const typename S::Memory *>(args.x) + std::uint64_t(row) * args.columns, vector, x);
      for (int k = 0; k < n; ++k)
        sum[k] += x[k];
    }
  // [element of the vector][warp][lane], with a gap after each element: neighbours are in different banks.
  constexpr unsigned pitch = columnsWarps * warpSize + warpSize / n;
  float *shared = lane.shared<float>();
  for (int k = 0; k < n; ++k)
    shared[k * pitch + warp * warpSize + inWarp] = sum[k];
  lane.sync();
  // Thread t adds the warps' sums of columns t, t + threads, .. of the tile.
  for (unsigned c = static_cast<unsigned>(lane.thread()); c < n * warpSize; c += columnsThreads) {
    const unsigned column = block % tiles * warpSize * n + c;
    if (column >= args.columns)
      continue;
    const unsigned element = c % n, of = c / n;
    float total = shared[element * pitch + of];
    for (unsigned w = 1; w < columnsWarps; ++w)
      total += shared[element * pitch + w * warpSize + of];
    if (args.runs == 1)
      writeResult(args.y, column * args.y.strides[0], total * args.factor, args.adds);
    else
      args.partial[run * args.columns + column] = total;
  }
}

/// The sum of a column of partial[runs][pitch], in the first warp of a block of `runsThreads`; `column` is the same in
/// lane l of every warp.
SLUICE_DEVICE float sumOfRuns(const float *partial, unsigned runs, unsigned pitch, unsigned column, bool real,
                              Lane lane) {
  const unsigned warp = static_cast<unsigned>(lane.thread()) / warpSize,
                 inWarp = static_cast<unsigned>(lane.thread()) % warpSize;
  float sum = 0;
  // Loads that are in flight together.
  constexpr unsigned together = 16;
  if (real)
    for (unsigned first = warp; first < runs; first += together * runsWarps) {
      float of[together];
      for (unsigned i = 0; i < together; ++i) {
        const unsigned run = first + i * runsWarps;
        of[i] = run < runs ? partial[run * pitch + column] : 0;
      }
      for (unsigned i = 0; i < together; ++i)
        sum += of[i];
    }
  float *shared = lane.shared<float>();
  shared[warp * warpSize + inWarp] = sum;
  lane.sync();
  if (warp == 0)
    for (unsigned w = 1; w < runsWarps; ++w)
      sum += shared[w * warpSize + inWarp];
  return sum;
}

SLUICE_DEVICE void columnSumsEnd(const ColumnsArgs &args, Lane lane) {
  const unsigned column =
      static_cast<unsigned>(lane.block()) * warpSize + static_cast<unsigned>(lane.thread()) % warpSize;
  const bool real = column < args.columns;
  const float sum = sumOfRuns(args.partial, args.runs, args.columns, column, real, lane);
  if (real && lane.thread() < warpSize)
    writeResult(args.y, column * args.y.strides[0], sum * args.factor, args.adds);
}

} // namespace sluice::cuda

#define SLUICE_COLUMNS_KERNELS(X)                                                                                      \
  SLUICE_STORED(X, columnSums, ColumnsArgs)                                                                            \
  X(sluice_columnSumsEnd, columnSumsEnd, ColumnsArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_COLUMNS_H
