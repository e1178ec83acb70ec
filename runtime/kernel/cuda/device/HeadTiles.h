//===- HeadTiles.h - rows of a head in shared memory, and products of them on tensor cores -----------------===//
//
// A tile is rows of D bf16 or f16 elements in shared memory, eight more from one row to the next than it has, so that
// the eight rows that one instruction reads are in different banks. Heads of fewer elements than D are filled up with
// zeros. A block is four warps; a warp owns 16 M rows of one side, and its sums over tiles of the other side stay in
// registers:
//
//   addScores      s[16 M x N] += own rows . the N rows of a tile
//   addWeighted    r[16 M x D] += s, rounded to the type of the rows, times the N rows of a tile
//
// Of s and r a lane holds, of each 16 x 8 part [m][n], the four numbers that TensorCore.h says.
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
  /// Can rows be moved by chunks?
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

/// A warp's results, times `factor` each, as its rows of a tile.
template <int type, int D, int M>
SLUICE_DEVICE void storeResult(const float (&result)[M][D / 8][4], float factor, Half *warpRows, Lane lane) {
  const int group = lane.thread() % warpSize / 4, part = lane.thread() % 4;
  SLUICE_UNROLL
  for (int m = 0; m < M; ++m)
    SLUICE_UNROLL
  for (int n = 0; n < D / 8; ++n)
    SLUICE_UNROLL
  for (int i = 0; i < 2; ++i)
    *reinterpret_cast<unsigned *>(warpRows + (m * 16 + i * 8 + group) * headPitch<D> + n * 8 + 2 * part) =
        packed<type>(result[m][n][2 * i] * factor, result[m][n][2 * i + 1] * factor);
}

template <int M, int N> SLUICE_DEVICE void clear(float (&s)[M][N][4]) {
  SLUICE_UNROLL
  for (int m = 0; m < M; ++m)
    SLUICE_UNROLL
  for (int n = 0; n < N; ++n)
    SLUICE_UNROLL
  for (int i = 0; i < 4; ++i)
    s[m][n][i] = 0;
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

/// A warp's own rows as first factors: read from their tile whenever they are used, or kept in registers.
template <int D, int M, bool kept> struct OwnRows {
  unsigned words[kept ? M : 1][kept ? D / 16 : 1][4];
  TileAddress at;

  SLUICE_DEVICE OwnRows(const Half *warpRows, Lane lane) : at(below<D>(addressOf(warpRows, lane), lane)) {
    if constexpr (kept) {
      SLUICE_UNROLL
      for (int m = 0; m < M; ++m)
        SLUICE_UNROLL
      for (int k = 0; k < D / 16; ++k)
        loadMatrices(words[m][k], at + (m * 16 * headPitch<D> + k * 16) * 2, lane);
    }
  }
  SLUICE_DEVICE void read(unsigned (&to)[4], int m, int k, Lane lane) const {
    if constexpr (kept) {
      SLUICE_UNROLL
      for (int w = 0; w < 4; ++w)
        to[w] = words[m][k][w];
    } else {
      loadMatrices(to, at + (m * 16 * headPitch<D> + k * 16) * 2, lane);
    }
  }
};

template <int type, int D, int M, int N, bool kept>
SLUICE_DEVICE void addScores(float (&s)[M][N / 8][4], const OwnRows<D, M, kept> &own, const Half *tile, Lane lane) {
  const TileAddress from = beside<D>(addressOf(tile, lane), lane);
  SLUICE_UNROLL
  for (int k = 0; k < D / 16; ++k) {
    unsigned first[M][4];
    SLUICE_UNROLL
    for (int m = 0; m < M; ++m)
      own.read(first[m], m, k, lane);
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
    // Two results side by side are a first factor as they stand.
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
