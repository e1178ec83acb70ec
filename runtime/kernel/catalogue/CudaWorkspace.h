//===- CudaWorkspace.h - workspace of the CUDA kernels -----------------------------===//
//
// Pure arithmetic, shared by the kernels and by the caps of their records. Bytes.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CATALOGUE_CUDAWORKSPACE_H
#define SLUICE_RUNTIME_KERNEL_CATALOGUE_CUDAWORKSPACE_H

#include "runtime/base/cuda/Lane.h"
#include "runtime/kernel/catalogue/Catalogue.h"

#include <algorithm>
#include <cstdint>

namespace sluice::cuda {

/// Workspace of cuBLASLt: NVIDIA's advice for Hopper and later.
inline constexpr std::uint64_t blasWorkspace = std::uint64_t(32) << 20;

/// Number of runs of rows whose column sums are added in a second stage (device/Columns.h): as many as give 1,024
/// blocks, each of 64 rows or more. `bytes`: of an element.
constexpr std::int64_t columnRuns(std::int64_t rows, std::int64_t columns, std::int64_t bytes) {
  const std::int64_t width = 32 * 16 / bytes, tiles = std::max<std::int64_t>((columns + width - 1) / width, 1);
  return std::clamp<std::int64_t>(1024 / tiles, 1, std::max<std::int64_t>((rows + 63) / 64, 1));
}
/// A sum of 4 bytes for each run and column.
constexpr std::uint64_t columnsWorkspace(std::int64_t rows, std::int64_t columns, std::int64_t bytes) {
  const std::int64_t runs = columnRuns(rows, columns, bytes);
  return runs == 1 ? 0 : static_cast<std::uint64_t>(runs * columns) * 4;
}

/// Number of runs of rows whose terms of the norms' dweight and dbias are added in a second stage
/// (device/DenseNorms.h).
constexpr std::int64_t normGradRuns(std::int64_t rows) { return std::clamp<std::int64_t>(rows / 32, 1, 256); }
/// `sums` of 4 bytes for each run and column; without dense rows two of 8 bytes for each of 64 runs (normVectors in
/// device/Rows.h).
constexpr std::uint64_t normGradWorkspace(std::int64_t rows, std::int64_t columns, std::uint64_t sums = 2) {
  return static_cast<std::uint64_t>(columns) *
         std::max<std::uint64_t>(64 * 2 * 8, static_cast<std::uint64_t>(normGradRuns(rows)) * sums * 4);
}

/// Of rows that are added by index (device/SortedRows.h): two lists of the positions with 8 bytes each, counts of
/// the sort in a byte for each row of the table, and two parts for each 64 positions. `bytes`: of an element of a part,
/// 4 or 8.
struct SortedRowsWorkspace {
  std::uint64_t list = 0, counts = 0, parts = 0;
  constexpr SortedRowsWorkspace(std::int64_t positions, std::int64_t rows, std::int64_t elements, std::uint64_t bytes)
      : list((static_cast<std::uint64_t>(positions) * 8 + 255) / 256 * 256),
        counts((static_cast<std::uint64_t>(rows) + 255) / 256 * 256),
        parts(static_cast<std::uint64_t>((positions + 63) / 64 * 2 * elements) * bytes) {}
  constexpr std::uint64_t bytes() const { return 2 * list + counts + parts; }
};

constexpr std::uint64_t crossEntropyWorkspace(std::int64_t rows) { return static_cast<std::uint64_t>(rows) * 8; }
inline constexpr std::uint64_t crossEntropyGradWorkspace = 8;
constexpr std::uint64_t attentionGradWorkspace(std::int64_t batch, std::int64_t heads, std::int64_t queries) {
  return static_cast<std::uint64_t>(batch * heads * queries) * 8;
}
/// As channelRuns in device/BatchNorm.h, and one more for the totals: two sums of 8 bytes a channel.
constexpr std::uint64_t batchNormWorkspace(std::int64_t channels) {
  return static_cast<std::uint64_t>(channels) * 65 * 2 * 8;
}

/// Number of runs of positions whose sums are added to the gradient of a convolution's weight: as many as give 512
/// tiles, each of 128 positions or more. `weight` is [O, C / groups, h, w], `y` [N, H, W, O].
constexpr std::int64_t convolutionRuns(std::int64_t groups, const std::int64_t *weight, const std::int64_t *y) {
  const auto tiles = [](std::int64_t size) { return (size + 63) / 64; };
  const std::int64_t all = groups * tiles(weight[0] / groups) * tiles(weight[1] * weight[2] * weight[3]);
  return std::clamp<std::int64_t>(512 / std::max<std::int64_t>(all, 1), 1,
                                  std::max<std::int64_t>((y[0] * y[1] * y[2] + 127) / 128, 1));
}
constexpr std::uint64_t convolutionWorkspace(std::int64_t groups, const std::int64_t *weight, const std::int64_t *y) {
  const std::int64_t runs = convolutionRuns(groups, weight, y);
  return runs == 1 ? 0 : static_cast<std::uint64_t>(runs * weight[0] * weight[1] * weight[2] * weight[3]) * 8;
}

/// Workspace of cuDNN for a convolution: its engines copy the weight into a different order, and some split sums.
constexpr std::uint64_t dnnConvolutionWorkspace(std::uint64_t weightBytes) {
  return (std::uint64_t(32) << 20) + (weightBytes + 255) / 256 * 256;
}

/// Workspace of a loss with its projection: a chunk of logits, in rows at a distance of `pitch` elements; one
/// factor on all; and one number a row. In addition to that of the products.
struct LinearLossWorkspace {
  std::int64_t pitch = 0;
  std::uint64_t logits = 0, numbers = 0;
  constexpr LinearLossWorkspace(std::int64_t rows, std::int64_t chunk, std::int64_t classes, std::uint64_t bytes)
      : pitch(bytes == 2 ? alignedPitch(classes) : classes),
        logits((static_cast<std::uint64_t>(chunk * pitch) * bytes + 255) / 256 * 256),
        numbers((static_cast<std::uint64_t>(rows + 1) * 8 + 255) / 256 * 256) {}
  constexpr std::uint64_t own() const { return logits + numbers; }
};

/// Of each input, the partial results of its blocks (device/Reduce.h).
constexpr std::uint64_t powerSumWorkspace(std::uint64_t inputs) { return inputs * 256 * 8; }

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CATALOGUE_CUDAWORKSPACE_H
