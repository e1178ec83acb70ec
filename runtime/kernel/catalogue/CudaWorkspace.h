//===- CudaWorkspace.h - workspace of the CUDA kernels -----------------------------===//
//
// Pure arithmetic, shared by the kernels and by the caps of their records. Bytes.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CATALOGUE_CUDAWORKSPACE_H
#define SLUICE_RUNTIME_KERNEL_CATALOGUE_CUDAWORKSPACE_H

#include "runtime/base/cuda/Lane.h"

#include <algorithm>
#include <cstdint>

namespace sluice::cuda {

/// Workspace of cuBLASLt: NVIDIA's advice for Hopper and later.
inline constexpr std::uint64_t blasWorkspace = std::uint64_t(32) << 20;

/// Runs of normVectors (device/Rows.h), two sums of 8 bytes a column.
constexpr std::uint64_t normGradWorkspace(std::int64_t columns) {
  return static_cast<std::uint64_t>(columns) * 64 * 2 * 8;
}
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

/// Workspace of cuDNN for attention: counters of its blocks.
inline constexpr std::uint64_t dnnAttentionWorkspace = std::uint64_t(64) << 10;

/// Workspace of a loss with its projection: a chunk of logits, and one number a row, or one factor on all. In addition
/// to that of the products.
struct LinearLossWorkspace {
  std::uint64_t logits = 0, numbers = 0;
  constexpr LinearLossWorkspace(std::int64_t rows, std::int64_t chunk, std::int64_t classes, std::uint64_t bytes)
      : logits((static_cast<std::uint64_t>(chunk * classes) * bytes + 255) / 256 * 256),
        numbers((static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 1)) * 8 + 255) / 256 * 256) {}
  constexpr std::uint64_t own() const { return logits + numbers; }
};

/// Of each input, the partial results of its blocks (device/Reduce.h).
constexpr std::uint64_t powerSumWorkspace(std::uint64_t inputs) { return inputs * 256 * 8; }

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CATALOGUE_CUDAWORKSPACE_H
