//===- HeadTiles.h - rows of a head in shared memory, and products of them on tensor cores -----------------===//
//
// A tile has rows of D bf16 or f16 elements in shared memory, each padded by eight elements, so that the eight rows
// that one instruction reads are in different banks. Smaller heads are padded with zeros. A block has four warps; a
// warp owns 16 M rows of one side, and its sums over tiles of the other side stay in registers:
//
//   addScores      s[16 M x N] += own rows . the N rows of a tile
//   addWeighted    r[16 M x D] += s, rounded to the type of the rows, times the N rows of a tile
//
// A lane holds four numbers of each 16 x 8 part [m][n] of s and r (TensorCore.h).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_HEADTILES_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_HEADTILES_H

#include "runtime/kernel/cuda/device/Attention.h"
#include "runtime/kernel/cuda/device/TensorCore.h"

namespace sluice::cuda {

inline constexpr int headWarps = 4, headThreads = headWarps * warpSize;

/// Elements from one row of a tile to the next.
template <int D> inline constexpr int headPitch = D + chunkHalves;
/// Bytes of a tile.
constexpr int headTile(int D, int rows) { return (D + chunkHalves) * rows * 2; }

/// The rows of one head in memory, fewer than 2^30.
struct HeadRows {
  Half *data;
  Index stride, elementStride;
  int count, size;
  /// True if rows can be moved by chunks.
  bool aligned;

  SLUICE_DEVICE HeadRows(const View &view, Index b, Index h, Index count, int size)
      : data(static_cast<Half *>(view.data) + b * view.strides[0] + h * view.strides[2]), stride(view.strides[1]),
        elementStride(view.strides[3]), count(static_cast<int>(count)), size(size),
        aligned(elementStride == 1 && size % chunkHalves == 0 && stride % chunkHalves == 0 &&
                reinterpret_cast<unsigned long long>(data) % chunkBytes == 0) {}
};

/// Begins to copy rows [begin, begin + N) to a tile; zeros beyond the last row and the last element.
template <int D, int N> SLUICE_DEVICE void copyRows(const HeadRows &rows, int begin, Half *tile, Lane lane) {
  if (rows.aligned) {
    constexpr int chunks = D / chunkHalves;
    for (int i = lane.thread(); i < N * chunks; i += headThreads) {
      const int row = i / chunks, d = i % chunks * chunkHalves;
      const bool real = begin + row < rows.count && d < rows.size;
      copyChunk(tile + row * headPitch<D> + d, real ? rows.data + Index(begin + row) * rows.stride + d : rows.data,
                real, lane);
    }
  } else {
    for (int i = lane.thread(); i < N * D; i += headThreads) {
      const int row = i / D, d = i % D;
      const bool real = begin + row < rows.count && d < rows.size;
      tile[row * headPitch<D> + d] =
          real ? rows.data[Index(begin + row) * rows.stride + d * rows.elementStride] : Half(0);
    }
  }
}

/// Writes a tile to rows [begin, begin + N).
template <int D, int N> SLUICE_DEVICE void writeRows(const HeadRows &rows, int begin, const Half *tile, Lane lane) {
  if (rows.aligned) {
    constexpr int chunks = D / chunkHalves;
    struct alignas(chunkBytes) Chunk {
      unsigned words[4];
    };
    for (int i = lane.thread(); i < N * chunks; i += headThreads) {
      const int row = i / chunks, d = i % chunks * chunkHalves;
      if (begin + row < rows.count && d < rows.size)
        *reinterpret_cast<Chunk *>(rows.data + Index(begin + row) * rows.stride + d) =
            *reinterpret_cast<const Chunk *>(tile + row * headPitch<D> + d);
    }
  } else {
    for (int i = lane.thread(); i < N * D; i += headThreads) {
      const int row = i / D, d = i % D;
      if (begin + row < rows.count && d < rows.size)
        rows.data[Index(begin + row) * rows.stride + d * rows.elementStride] = tile[row * headPitch<D> + d];
    }
  }
}

/// body(m, n, i) for each number that a lane holds of a warp's 16 M x 8 N results.
template <int M, int N, typename Body> SLUICE_DEVICE void forNumbers(Body body) {
  SLUICE_UNROLL
  for (int m = 0; m < M; ++m)
    SLUICE_UNROLL
  for (int n = 0; n < N; ++n)
    SLUICE_UNROLL
  for (int i = 0; i < 4; ++i)
    body(m, n, i);
}
/// body(m, i) for each row of which a lane holds results: row 16 m + 8 i + group of its warp.
template <int M, typename Body> SLUICE_DEVICE void forRows(Body body) {
  SLUICE_UNROLL
  for (int m = 0; m < M; ++m)
    SLUICE_UNROLL
  for (int i = 0; i < 2; ++i)
    body(m, i);
}

template <int M, int N> SLUICE_DEVICE void clear(float (&s)[M][N][4]) {
  forNumbers<M, N>([&](int m, int n, int i) { s[m][n][i] = 0; });
}

/// Writes a warp's results, each times `factor`, to its rows of a tile.
template <int type, int D, int M>
SLUICE_DEVICE void storeResult(const float (&result)[M][D / 8][4], float factor, Half *warpRows, Lane lane) {
  const int group = lane.thread() % warpSize / 4, part = lane.thread() % 4;
  forRows<M>([&](int m, int i) {
    SLUICE_UNROLL
    for (int n = 0; n < D / 8; ++n)
      *reinterpret_cast<unsigned *>(warpRows + (m * 16 + i * 8 + group) * headPitch<D> + n * 8 + 2 * part) =
          packed<type>(result[m][n][2 * i] * factor, result[m][n][2 * i + 1] * factor);
  });
}

/// The address of lane i's row of the four matrices of a 16 x 16 block: the second is below the first (or to its
/// right), then the other two.
template <int D> SLUICE_DEVICE TileAddress below(TileAddress tile, Lane lane) {
  const int at = lane.thread() % warpSize;
  return tile + (at % 16 * headPitch<D> + at / 16 * 8) * 2;
}
template <int D> SLUICE_DEVICE TileAddress beside(TileAddress tile, Lane lane) {
  const int at = lane.thread() % warpSize;
  return tile + ((at / 16 * 8 + at % 8) * headPitch<D> + at / 8 % 2 * 8) * 2;
}

/// `own`: below() of the warp's own rows.
template <int type, int D, int M, int N>
SLUICE_DEVICE void addScores(float (&s)[M][N / 8][4], TileAddress own, const Half *tile, Lane lane) {
  const TileAddress from = beside<D>(addressOf(tile, lane), lane);
  SLUICE_UNROLL
  for (int k = 0; k < D / 16; ++k) {
    unsigned first[M][4];
    SLUICE_UNROLL
    for (int m = 0; m < M; ++m)
      loadMatrices(first[m], own + (m * 16 * headPitch<D> + k * 16) * 2, lane);
    SLUICE_UNROLL
    for (int n = 0; n < N / 16; ++n) {
      unsigned second[4];
      loadMatrices(second, from + (n * 16 * headPitch<D> + k * 16) * 2, lane);
      SLUICE_UNROLL
      for (int m = 0; m < M; ++m) {
        multiplyAdd<type>(s[m][2 * n], first[m], second[0], second[1], lane);
        multiplyAdd<type>(s[m][2 * n + 1], first[m], second[2], second[3], lane);
      }
    }
  }
}

template <int type, int D, int M, int N>
SLUICE_DEVICE void addWeighted(float (&r)[M][D / 8][4], const float (&s)[M][N / 8][4], const Half *tile, Lane lane) {
  const TileAddress from = below<D>(addressOf(tile, lane), lane);
  SLUICE_UNROLL
  for (int k = 0; k < N / 16; ++k) {
    // Two neighbouring results have the layout of a first factor.
    unsigned first[M][4];
    SLUICE_UNROLL
    for (int m = 0; m < M; ++m)
      SLUICE_UNROLL
    for (int w = 0; w < 4; ++w)
      first[m][w] = packed<type>(s[m][2 * k + w / 2][w % 2 * 2], s[m][2 * k + w / 2][w % 2 * 2 + 1]);
    SLUICE_UNROLL
    for (int n = 0; n < D / 16; ++n) {
      unsigned second[4];
      loadTransposed(second, from + (k * 16 * headPitch<D> + n * 16) * 2, lane);
      SLUICE_UNROLL
      for (int m = 0; m < M; ++m) {
        multiplyAdd<type>(r[m][2 * n], first[m], second[0], second[1], lane);
        multiplyAdd<type>(r[m][2 * n + 1], first[m], second[2], second[3], lane);
      }
    }
  }
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_HEADTILES_H
