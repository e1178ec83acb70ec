//===- Tiles.h - sums of products by tiles in shared memory ------------------------------------------===//
//
//   result(m, n) = sum over k of left(m, k) right(k, n), k upwards
//
// A block computes 64 x 64 results, each of its 256 threads 4 x 4 of them at distances of 16. A problem defines left
// and right: elements of a matrix, or of an image under a window.
//
//   Row row(m), Column column(n), Depth depth(k)     the components of any index, also of one after the last
//   left(row, depth), right(depth, column)           0 where m or n is beyond the last
//   depthFirst                                       true if neighbours in memory follow along k, else along m and n
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_TILES_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_TILES_H

#include "runtime/base/cuda/Element.h"

namespace sluice::cuda {

inline constexpr int tileSide = 64, tileDepth = 16, tileThreads = 256;
/// Elements from one k to the next: threads that store 16 neighbours have no bank conflict.
inline constexpr int tilePitch = tileSide + 2;

constexpr int tileShared(int bytes) { return 2 * tileDepth * tilePitch * bytes; }
SLUICE_DEVICE Index tilesOf(Index size) { return (size + tileSide - 1) / tileSide; }

/// Positions of a thread's results in its tile.
SLUICE_DEVICE int tileRow(Lane lane, int r) { return lane.thread() / 16 + 16 * r; }
SLUICE_DEVICE int tileColumn(Lane lane, int c) { return lane.thread() % 16 + 16 * c; }

template <typename T, typename Problem>
SLUICE_DEVICE void tileProduct(const Problem &problem, Index firstRow, Index firstColumn, Index begin, Index end,
                               T (&result)[4][4], Lane lane) {
  constexpr bool deep = Problem::depthFirst;
  // A thread loads one k for four rows and columns, or four k for one.
  constexpr int sides = deep ? 4 : 1, depths = deep ? 1 : 4;
  T *left = lane.shared<T>(), *right = left + tileDepth * tilePitch;
  const int side = deep ? lane.thread() / tileDepth : lane.thread() % tileSide;
  const int depth = deep ? lane.thread() % tileDepth : lane.thread() / tileSide;
  typename Problem::Row rows[sides];
  typename Problem::Column columns[sides];
  for (int s = 0; s < sides; ++s) {
    rows[s] = problem.row(firstRow + side + 16 * s);
    columns[s] = problem.column(firstColumn + side + 16 * s);
  }
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c)
      result[r][c] = 0;
  for (Index k = begin; k < end; k += tileDepth) {
    lane.sync();
    for (int d = 0; d < depths; ++d) {
      const int at = depth + 4 * d;
      const bool real = k + at < end;
      const typename Problem::Depth which = problem.depth(k + at);
      for (int s = 0; s < sides; ++s) {
        left[at * tilePitch + side + 16 * s] = real ? problem.left(rows[s], which) : T(0);
        right[at * tilePitch + side + 16 * s] = real ? problem.right(which, columns[s]) : T(0);
      }
    }
    lane.sync();
    for (int d = 0; d < tileDepth; ++d) {
      T a[4], b[4];
      for (int i = 0; i < 4; ++i) {
        a[i] = left[d * tilePitch + tileRow(lane, i)];
        b[i] = right[d * tilePitch + tileColumn(lane, i)];
      }
      for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 4; ++c)
          result[r][c] += a[r] * b[c];
    }
  }
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_TILES_H
