//===- DenseNorms.h - norms over dense rows ------------------------------------------------------===//
//
// The fast form of the norms of Rows.h. A block computes one row after another with the row in registers: thread t of T
// has the vectors t, t + T, .. (at most `vectors`), and adds their elements in order; sums over the block are those of
// blockReduce. The weights are read once per block.
//
// Gradients: block r computes run r of the rows (CudaWorkspace.h), whose terms of dweight and dbias each thread adds in
// order of rows in float; the runs are added as by the second stage of Columns.h.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSENORMS_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSENORMS_H

#include "runtime/kernel/cuda/device/Columns.h"

namespace sluice::cuda {

struct DenseNormArgs {
  /// dy, x, weight, bias -> y or dx. `addend`, unless null, is added to dx.
  const void *dy = nullptr, *x = nullptr, *weight = nullptr, *bias = nullptr, *addend = nullptr;
  void *y = nullptr;
  /// Of each row; written by the norm, read by its gradient.
  float *mean = nullptr, *rstd = nullptr;
  /// [2][runs][columns]
  float *partial = nullptr;
  View dweight, dbias;
  unsigned rows = 0, columns = 0, runs = 0;
  /// Elements of a vector.
  unsigned width = 0;
  float epsilon = 0;
  /// No byte of the arguments is left without a value: tests compare them.
  unsigned padding = 0;
};

/// Two numbers of each warp, twice, so that one barrier per sum is enough.
inline constexpr int denseNormShared = 2 * 2 * 32 * 4;

/// Sums of two numbers over the block, in blockReduce's order. `turn` alternates between 0 and 1.
SLUICE_DEVICE void blockSums(Lane lane, float &a, float &b, int turn) {
  a = lane.warpReduce(a, Add());
  b = lane.warpReduce(b, Add());
  const int warps = lane.threads() / warpSize;
  if (warps == 1)
    return;
  float *shared = lane.shared<float>() + turn * 2 * 32;
  if (lane.thread() % warpSize == 0) {
    shared[lane.thread() / warpSize] = a;
    shared[32 + lane.thread() / warpSize] = b;
  }
  lane.sync();
  a = shared[0];
  b = shared[32];
  for (int w = 1; w < warps; ++w) {
    a += shared[w];
    b += shared[32 + w];
  }
}

/// The vectors of a thread in one row; vectors after the row are 0.
template <typename S, int vectors> struct RowPart {
  static constexpr int n = vectorWidth<S>;
  float of[vectors][n];

  SLUICE_DEVICE void load(const void *row, unsigned count, Lane lane) {
    for (int v = 0; v < vectors; ++v) {
      const unsigned at = static_cast<unsigned>(v * lane.threads() + lane.thread());
      if (at < count)
        loadVector<S>(row, at, of[v]);
      else
        for (int k = 0; k < n; ++k)
          of[v][k] = 0;
    }
  }
  SLUICE_DEVICE void store(void *row, unsigned count, Lane lane) const {
    for (int v = 0; v < vectors; ++v) {
      const unsigned at = static_cast<unsigned>(v * lane.threads() + lane.thread());
      if (at < count)
        storeVector<S>(row, at, of[v]);
    }
  }
};

/// The address of a row.
template <typename S> SLUICE_DEVICE const void *rowOf(const void *data, unsigned row, unsigned columns) {
  return static_cast<const typename S::Memory *>(data) + std::uint64_t(row) * columns;
}
template <typename S> SLUICE_DEVICE void *rowOf(void *data, unsigned row, unsigned columns) {
  return static_cast<typename S::Memory *>(data) + std::uint64_t(row) * columns;
}

/// x, weight, [bias] -> y, [mean], rstd
template <typename S, int vectors, bool centred> SLUICE_DEVICE void denseNorm(const DenseNormArgs &args, Lane lane) {
  using Part = RowPart<S, vectors>;
  const unsigned count = args.columns / Part::n;
  const float size = static_cast<float>(args.columns);
  Part weight, bias;
  weight.load(args.weight, count, lane);
  if (centred)
    bias.load(args.bias, count, lane);
  int turn = 0;
  for (unsigned row = static_cast<unsigned>(lane.block()); row < args.rows;
       row += static_cast<unsigned>(lane.blocks())) {
    Part x;
    x.load(rowOf<S>(args.x, row, args.columns), count, lane);
    float mean = 0, shift = 0, squares = 0;
    if (centred) {
      float none = 0;
      for (int v = 0; v < vectors; ++v)
        for (int k = 0; k < Part::n; ++k)
          mean += x.of[v][k];
      blockSums(lane, mean, none, turn);
      turn ^= 1;
      mean /= size;
    }
    for (int v = 0; v < vectors; ++v)
      if (static_cast<unsigned>(v * lane.threads() + lane.thread()) < count)
        for (int k = 0; k < Part::n; ++k) {
          const float difference = x.of[v][k] - mean;
          shift += difference;
          squares += difference * difference;
        }
    blockSums(lane, shift, squares, turn);
    turn ^= 1;
    if (centred) {
      // The mean of the differences corrects the rounding of a mean far above the deviation.
      shift /= size;
      mean += shift;
      squares -= shift * shift * size;
    }
    const float rstd = 1 / rootOf(squares / size + args.epsilon);
    Part y;
    for (int v = 0; v < vectors; ++v)
      for (int k = 0; k < Part::n; ++k)
        y.of[v][k] = centred ? (x.of[v][k] - mean) * rstd * weight.of[v][k] + bias.of[v][k]
                             : x.of[v][k] * rstd * weight.of[v][k];
    y.store(rowOf<S>(args.y, row, args.columns), count, lane);
    if (lane.thread() == 0) {
      if (centred)
        args.mean[row] = mean;
      args.rstd[row] = rstd;
    }
  }
}

/// The terms of a run: the first four elements of all vectors, then the next four, so that neighbours are stored
/// together.
template <int vectors, int n>
SLUICE_DEVICE void storeTerms(float *partial, const float (&terms)[vectors][n], unsigned count, Lane lane) {
  for (int v = 0; v < vectors; ++v) {
    const unsigned at = static_cast<unsigned>(v * lane.threads() + lane.thread());
    if (at < count)
      for (int part = 0; part < n / 4; ++part) {
        const float *from = terms[v] + 4 * part;
        const float four[4] = {from[0], from[1], from[2], from[3]};
        storeVector<StoredF32>(partial, static_cast<unsigned>(part) * count + at, four);
      }
  }
}
SLUICE_DEVICE unsigned columnOfTerm(unsigned term, unsigned columns, unsigned n) {
  const unsigned count = columns / n;
  return term / 4 % count * n + term / 4 / count * 4 + term % 4;
}

/// dy, x, weight, [mean,] rstd, [addend] -> dx, and the run's part of dweight and dbias
template <typename S, int vectors, bool centred>
SLUICE_DEVICE void denseNormGrad(const DenseNormArgs &args, Lane lane) {
  using Part = RowPart<S, vectors>;
  const unsigned count = args.columns / Part::n, run = static_cast<unsigned>(lane.block());
  const unsigned length = (args.rows + args.runs - 1) / args.runs, begin = run * length;
  const unsigned end = begin + length < args.rows ? begin + length : args.rows;
  const float size = static_cast<float>(args.columns);
  Part weight;
  weight.load(args.weight, count, lane);
  float ofWeight[vectors][Part::n] = {}, ofBias[vectors][Part::n] = {};
  int turn = 0;
  for (unsigned row = begin; row < end; ++row) {
    Part dy, x;
    dy.load(rowOf<S>(args.dy, row, args.columns), count, lane);
    x.load(rowOf<S>(args.x, row, args.columns), count, lane);
    const float mean = centred ? args.mean[row] : 0, rstd = args.rstd[row];
    float sum = 0, dot = 0;
    for (int v = 0; v < vectors; ++v)
      for (int k = 0; k < Part::n; ++k) {
        const float h = (x.of[v][k] - mean) * rstd, g = dy.of[v][k] * weight.of[v][k];
        ofWeight[v][k] += dy.of[v][k] * h;
        ofBias[v][k] += dy.of[v][k];
        sum += g;
        dot += g * h;
      }
    blockSums(lane, sum, dot, turn);
    turn ^= 1;
    sum = centred ? sum / size : 0;
    dot /= size;
    for (int v = 0; v < vectors; ++v)
      for (int k = 0; k < Part::n; ++k)
        x.of[v][k] = rstd * (dy.of[v][k] * weight.of[v][k] - sum - (x.of[v][k] - mean) * rstd * dot);
    if (args.addend) {
      // In the registers of dy.
      dy.load(rowOf<S>(args.addend, row, args.columns), count, lane);
      for (int v = 0; v < vectors; ++v)
        for (int k = 0; k < Part::n; ++k)
          x.of[v][k] += dy.of[v][k];
    }
    x.store(rowOf<S>(args.y, row, args.columns), count, lane);
  }
  float *partial = args.partial + std::uint64_t(run) * args.columns;
  storeTerms<vectors, Part::n>(partial, ofWeight, count, lane);
  if (centred)
    storeTerms<vectors, Part::n>(partial + std::uint64_t(args.runs) * args.columns, ofBias, count, lane);
}

/// dweight and dbias; a second set of blocks adds dbias.
SLUICE_DEVICE void denseNormGradEnd(const DenseNormArgs &args, Lane lane) {
  const unsigned tiles = (args.columns + warpSize - 1) / warpSize, block = static_cast<unsigned>(lane.block());
  const bool isBias = block >= tiles;
  const unsigned term = block % tiles * warpSize + static_cast<unsigned>(lane.thread()) % warpSize;
  const bool real = term < args.columns;
  const float *partial = args.partial + (isBias ? std::uint64_t(args.runs) * args.columns : 0);
  const float sum = sumOfRuns(partial, args.runs, args.columns, term, real, lane);
  const View &to = isBias ? args.dbias : args.dweight;
  if (real && lane.thread() < warpSize)
    Mixed::write(to, columnOfTerm(term, args.columns, args.width) * to.strides[0], sum);
}

template <typename S, int vectors> SLUICE_DEVICE void denseLayerNorm(const DenseNormArgs &args, Lane lane) {
  denseNorm<S, vectors, true>(args, lane);
}
template <typename S, int vectors> SLUICE_DEVICE void denseRmsNorm(const DenseNormArgs &args, Lane lane) {
  denseNorm<S, vectors, false>(args, lane);
}
template <typename S, int vectors> SLUICE_DEVICE void denseLayerNormGrad(const DenseNormArgs &args, Lane lane) {
  denseNormGrad<S, vectors, true>(args, lane);
}
template <typename S, int vectors> SLUICE_DEVICE void denseRmsNormGrad(const DenseNormArgs &args, Lane lane) {
  denseNormGrad<S, vectors, false>(args, lane);
}

} // namespace sluice::cuda

/// One kernel for each type and number of vectors per thread.
#define SLUICE_ROW_PARTS(X, name, Args)                                                                                \
  X(sluice_##name##1_f32, name<StoredF32 SLUICE_COMMA 1>, Args)                                                        \
  X(sluice_##name##2_f32, name<StoredF32 SLUICE_COMMA 2>, Args)                                                        \
  X(sluice_##name##4_f32, name<StoredF32 SLUICE_COMMA 4>, Args)                                                        \
  X(sluice_##name##1_bf16, name<StoredBf16 SLUICE_COMMA 1>, Args)                                                      \
  X(sluice_##name##2_bf16, name<StoredBf16 SLUICE_COMMA 2>, Args)                                                      \
  X(sluice_##name##4_bf16, name<StoredBf16 SLUICE_COMMA 4>, Args)                                                      \
  X(sluice_##name##1_f16, name<StoredF16 SLUICE_COMMA 1>, Args)                                                        \
  X(sluice_##name##2_f16, name<StoredF16 SLUICE_COMMA 2>, Args)                                                        \
  X(sluice_##name##4_f16, name<StoredF16 SLUICE_COMMA 4>, Args)
#define SLUICE_DENSE_NORM_KERNELS(X)                                                                                   \
  SLUICE_ROW_PARTS(X, denseLayerNorm, DenseNormArgs)                                                                   \
  SLUICE_ROW_PARTS(X, denseRmsNorm, DenseNormArgs)                                                                     \
  SLUICE_ROW_PARTS(X, denseLayerNormGrad, DenseNormArgs)                                                               \
  SLUICE_ROW_PARTS(X, denseRmsNormGrad, DenseNormArgs)                                                                 \
  X(sluice_denseNormGradEnd, denseNormGradEnd, DenseNormArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSENORMS_H
