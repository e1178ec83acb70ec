//===- WorkspaceCaps.h - the workspace functions of the records ----------------===//
//
// Each takes a launch with the record's number of operands. docs/kernels.md, docs/cuda-kernels.md give the formulas.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CATALOGUE_WORKSPACECAPS_H
#define SLUICE_RUNTIME_KERNEL_CATALOGUE_WORKSPACECAPS_H

#include "runtime/kernel/catalogue/Record.h"

namespace sluice {

/// Elements of the declared shape.
std::int64_t shapeElements(const Operand &operand);
/// The extent of the last dim; 0 for a scalar.
std::int64_t lastExtent(const Operand &operand);

namespace cpu {
std::uint64_t indexCap(const LaunchDescription &launch);
std::uint64_t matmulCap(const LaunchDescription &launch);
std::uint64_t attentionCap(const LaunchDescription &launch);
std::uint64_t attentionGradCap(const LaunchDescription &launch);
std::uint64_t convolutionCap(const LaunchDescription &launch);
std::uint64_t convolutionInputGradCap(const LaunchDescription &launch);
std::uint64_t convolutionWeightGradCap(const LaunchDescription &launch);
std::uint64_t batchNormCap(const LaunchDescription &launch);
std::uint64_t normGradCap(const LaunchDescription &launch);
std::uint64_t crossEntropyCap(const LaunchDescription &launch);
/// For linear_cross_entropy and its gradient.
std::uint64_t linearLossCap(const LaunchDescription &launch);
} // namespace cpu

namespace cuda {
std::uint64_t matmulCap(const LaunchDescription &launch);
std::uint64_t attentionCap(const LaunchDescription &launch);
std::uint64_t attentionGradCap(const LaunchDescription &launch);
/// For conv2d and conv2d_input_grad.
std::uint64_t convolutionCap(const LaunchDescription &launch);
std::uint64_t convolutionWeightGradCap(const LaunchDescription &launch);
std::uint64_t batchNormCap(const LaunchDescription &launch);
std::uint64_t normGradCap(const LaunchDescription &launch);
std::uint64_t normGradAndSumCap(const LaunchDescription &launch);
std::uint64_t reduceSumCap(const LaunchDescription &launch);
/// For scatter_add and embedding_grad.
std::uint64_t sortedRowsCap(const LaunchDescription &launch);
std::uint64_t crossEntropyCap(const LaunchDescription &launch);
std::uint64_t crossEntropyGradCap(const LaunchDescription &launch);
std::uint64_t crossEntropyAndGradCap(const LaunchDescription &launch);
std::uint64_t linearLossCap(const LaunchDescription &launch);
std::uint64_t powerSumCap(const LaunchDescription &launch);
} // namespace cuda

} // namespace sluice

#endif // SLUICE_RUNTIME_KERNEL_CATALOGUE_WORKSPACECAPS_H
