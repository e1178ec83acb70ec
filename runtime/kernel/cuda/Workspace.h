//===- Workspace.h - how much scratch memory each CUDA kernel asks for -------------------------------===//
//
// Pure arithmetic, shared by the kernels and by cudaWorkspaceCap. Bytes.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_WORKSPACE_H
#define SLUICE_RUNTIME_KERNEL_CUDA_WORKSPACE_H

#include "runtime/base/cuda/Lane.h"

#include <cstdint>

namespace sluice::cuda {

/// What cuBLASLt may take; NVIDIA's advice for Hopper and later.
inline constexpr std::uint64_t blasWorkspace = std::uint64_t(32) << 20;

/// Runs of normVectors (device/Rows.h), two sums of 8 bytes a column.
constexpr std::uint64_t normGradWorkspace(std::int64_t columns) { return static_cast<std::uint64_t>(columns) * 64 * 2 * 8; }
constexpr std::uint64_t crossEntropyWorkspace(std::int64_t rows) { return static_cast<std::uint64_t>(rows) * 8; }
inline constexpr std::uint64_t crossEntropyGradWorkspace = 8;
constexpr std::uint64_t attentionGradWorkspace(std::int64_t batch, std::int64_t heads, std::int64_t queries) {
  return static_cast<std::uint64_t>(batch * heads * queries) * 8;
}
/// Of each input, the partial results of its blocks (device/Reduce.h).
constexpr std::uint64_t powerSumWorkspace(std::uint64_t inputs) { return inputs * 256 * 8; }

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_WORKSPACE_H
