//===- DnnAttention.h - attention that cuDNN computes -----------------------------===//
//
// The compiler chooses cuDNN for a launch of `attention` or `attention_grad` by these rules, and the runtime refuses a
// plan that differs from them. Bytes are those of cuDNN 9.19, which test/cuda/DnnLibraryTest.cpp compares with the
// library's plans.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CATALOGUE_DNNATTENTION_H
#define SLUICE_RUNTIME_KERNEL_CATALOGUE_DNNATTENTION_H

#include "runtime/kernel/catalogue/Operand.h"

#include <string>

namespace sluice::cuda {

/// The reason why cuDNN does not compute a launch with these operands, empty if it does. All inputs and outputs of
/// `attention` or of `attention_grad`, in their order.
std::string dnnAttentionProblem(std::span<const Operand> inputs, std::span<const Operand> outputs);

/// Workspace of the forward: counters of its blocks. Launches of Sluice's kernel, which needs none, declare it too.
inline constexpr std::uint64_t dnnAttentionWorkspace = std::uint64_t(64) << 10;

/// Compute capabilities on which NVIDIA states that the gradient with this workspace gives the same bits in each run.
constexpr bool hasDnnAttentionGrad(int major) { return major == 9; }

/// The gradient, computed for `rows` rows of the batch at a time.
struct DnnAttentionGrad {
  std::uint64_t rows = 0, queries = 0, keys = 0, heads = 0, keyHeads = 0, size = 0;

  /// `q` [B, T, H, D] and `k` [B, S, G, D]. 0 rows are all.
  DnnAttentionGrad(const Operand &q, const Operand &k, std::int64_t rows);

  /// The scores' gradients, [rows, H, T, S] in half precision with T and S padded to tiles; if heads share keys, dk and
  /// dv of every head; the sum of dout out of each query in f32.
  std::uint64_t workspace() const;
};

/// Whether the gradient can be computed for `rows` rows of the batch at a time: they divide it, and the statistics of
/// each part begin at a multiple of 16 bytes.
bool canDivideDnnAttentionGrad(const Operand &q, std::int64_t rows);
/// The number of rows at a time that a plan states: the largest one with a workspace of at most 2,064 MiB, else the
/// smallest one. So many rows occupy a GPU several times over.
std::int64_t dnnAttentionGradRows(const Operand &q, const Operand &k);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CATALOGUE_DNNATTENTION_H
