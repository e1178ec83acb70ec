//===- CpuWorkspaceCaps.cpp - scratch memory of the CPU kernels ----------------===//
//
// A test compares the caps with the memory that the kernels use.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/CpuWorkspace.h"
#include "runtime/kernel/catalogue/WeightGradTasks.h"
#include "runtime/kernel/catalogue/WorkspaceCaps.h"

#include <algorithm>

namespace sluice {

std::int64_t shapeElements(const Operand &operand) {
  std::int64_t count = 1;
  for (int d = 0; d < operand.rank; ++d)
    count *= operand.shape[d];
  return count;
}
std::int64_t lastExtent(const Operand &operand) { return operand.rank > 0 ? operand.shape[operand.rank - 1] : 0; }

namespace cpu {
namespace {

std::uint64_t libraryCap(const LaunchDescription &launch) { return libraryWorkspace(launch.threads, launch.avx512); }

/// The parts of a convolution or of one of its gradients by role.
struct ConvolutionOperands {
  const Operand &x, &weight, &y;
  const Operand *bias = nullptr;

  bool areImages() const { return x.rank == 4 && weight.rank == 4 && y.rank == 4 && x.dtype != DType::f64; }
};

/// Scratchpad of the library, the packed weight, unrolled windows, and dense f32 copies of other operands.
std::uint64_t libraryConvolution(const LaunchDescription &launch, const ConvolutionOperands &o) {
  const std::int64_t groups = std::max<std::int64_t>(launch.attributes.integer("groups"), 1);
  const std::int64_t outputs = o.weight.shape[0], inputs = o.weight.shape[1],
                     kernel = o.weight.shape[2] * o.weight.shape[3];
  return libraryCap(launch) + packedWeightBytes(groups, std::max<std::int64_t>(outputs / groups, 1), inputs, kernel) +
         unrolledBytes(o.x.shape[0], o.y.shape[1] * o.y.shape[2], inputs, outputs, kernel);
}

/// True if elements of a product's operand overlap, by a stride of 0 for example: it is copied to panels.
bool needsPanels(const Operand &operand) {
  const int rows = operand.rank - 2, columns = operand.rank - 1;
  for (int d = 0; d < operand.rank; ++d)
    if (operand.shape[d] > 1 && operand.strides[d] == 0)
      return true;
  return rows >= 0 && !hasLibraryLayout(operand.shape[rows], operand.shape[columns], operand.strides[rows],
                                        operand.strides[columns]);
}

std::uint64_t denseCopies(const ConvolutionOperands &o) {
  std::uint64_t bytes = 0;
  for (const Operand *operand : {&o.x, &o.weight, &o.y, o.bias})
    if (operand && (operand->dtype != DType::f32 || !operand->isDense()))
      bytes += static_cast<std::uint64_t>(roundUp(shapeElements(*operand), 16)) * 4;
  return bytes;
}

/// Workspace of Sluice's implementation, for the largest panels of all its instruction sets.
std::uint64_t ownWeightGrad(const LaunchDescription &launch, const ConvolutionOperands &o) {
  const auto stride = launch.attributes.list("stride"), dilation = launch.attributes.list("dilation");
  if (launch.avx512 || stride.size() != 2 || dilation.size() != 2)
    return 0;
  const std::int64_t groups = std::max<std::int64_t>(launch.attributes.integer("groups"), 1);
  const WeightGradTasks::Sizes sizes{o.x.shape[0],
                                     o.weight.shape[1] * groups,
                                     o.weight.shape[0],
                                     {o.y.shape[1], o.y.shape[2]},
                                     {o.weight.shape[2], o.weight.shape[3]},
                                     {stride[0], stride[1]},
                                     {dilation[0], dilation[1]}};
  std::uint64_t bytes = 0;
  if (WeightGradTasks::isSuitable(sizes))
    for (std::int64_t panel : {8, 16})
      bytes = std::max(bytes, WeightGradTasks(sizes, panel).workspace(sizes, launch.threads));
  return bytes;
}

} // namespace

std::uint64_t indexCap(const LaunchDescription &launch) {
  return static_cast<std::uint64_t>(shapeElements(launch.inputs[1])) * 8;
}

std::uint64_t matmulCap(const LaunchDescription &launch) {
  const Operand &a = launch.inputs[0], &c = launch.outputs[0];
  if (a.rank < 2 || c.rank < 2 || a.dtype == DType::f64)
    return 0;
  if (a.dtype == DType::f32 && !needsPanels(a) && !needsPanels(launch.inputs[1]))
    return libraryCap(launch);
  // Batches may fold into the rows.
  const std::int64_t n = lastExtent(c), m = n ? shapeElements(c) / n : 0;
  const std::int64_t k = a.shape[launch.attributes.integer("transpose_a") ? a.rank - 2 : a.rank - 1];
  return libraryCap(launch) + widenWorkspace(m, n, k);
}

std::uint64_t attentionCap(const LaunchDescription &launch) {
  const Operand &q = launch.inputs[0], &k = launch.inputs[1];
  if (k.rank != 4 || q.dtype == DType::f64)
    return 0;
  return static_cast<std::uint64_t>(attentionFloats(k.shape[1], k.shape[3])) * 4 *
         static_cast<std::uint64_t>(launch.threads);
}

std::uint64_t attentionGradCap(const LaunchDescription &launch) {
  const Operand &q = launch.inputs[1], &k = launch.inputs[2];
  if (q.rank != 4 || k.rank != 4 || q.dtype == DType::f64)
    return 0;
  return static_cast<std::uint64_t>(attentionGradFloats(q.shape[1], k.shape[1], k.shape[3])) * 4 *
         static_cast<std::uint64_t>(launch.threads);
}

std::uint64_t convolutionCap(const LaunchDescription &launch) {
  const ConvolutionOperands o{launch.inputs[0], launch.inputs[1], launch.outputs[0],
                              launch.inputs.size() > 2 ? &launch.inputs[2] : nullptr};
  return o.areImages() ? libraryConvolution(launch, o) + denseCopies(o) : 0;
}

std::uint64_t convolutionInputGradCap(const LaunchDescription &launch) {
  const ConvolutionOperands o{launch.outputs[0], launch.inputs[1], launch.inputs[0]};
  if (!o.areImages())
    return 0;
  return libraryConvolution(launch, o) +
         transposedWeightBytes(o.weight.shape[0], o.weight.shape[1], o.weight.shape[2] * o.weight.shape[3]) +
         denseCopies(o);
}

std::uint64_t convolutionWeightGradCap(const LaunchDescription &launch) {
  const ConvolutionOperands o{launch.inputs[1], launch.outputs[0], launch.inputs[0]};
  return o.areImages() ? std::max(libraryConvolution(launch, o), ownWeightGrad(launch, o)) + denseCopies(o) : 0;
}

std::uint64_t batchNormCap(const LaunchDescription &launch) { return batchNormWorkspace(lastExtent(launch.inputs[0])); }
std::uint64_t normGradCap(const LaunchDescription &launch) {
  return normGradWorkspace(launch.outputs.size() - 1, lastExtent(launch.inputs[1]));
}
std::uint64_t crossEntropyCap(const LaunchDescription &launch) {
  return crossEntropyWorkspace(shapeElements(launch.inputs[1]));
}
/// A chunk of logits, one number, and the largest workspace of its products and of cross entropy.
std::uint64_t linearLossCap(const LaunchDescription &launch) {
  // The gradient alone has dloss, a scalar, before them.
  const auto in = launch.inputs.subspan(launch.inputs.size() >= 5 && launch.inputs[0].rank == 0 ? 1 : 0);
  const Operand &x = in[0], &weight = in[1], &targets = in[2];
  if (x.rank < 1 || weight.rank != 2)
    return 0;
  const std::int64_t columns = weight.shape[1], classes = weight.shape[0];
  const std::int64_t rows = std::max<std::int64_t>(shapeElements(targets), 1);
  const std::int64_t chunk = std::clamp<std::int64_t>(launch.attributes.integer("rows"), 1, rows);
  std::uint64_t inner = crossEntropyWorkspace(chunk);
  if (x.dtype != DType::f64)
    inner = std::max(inner, libraryCap(launch));
  if (x.dtype == DType::bf16 || x.dtype == DType::f16)
    for (auto [m, n, k] : {std::array{chunk, classes, columns}, {chunk, columns, classes}, {classes, columns, chunk}})
      inner = std::max(inner, libraryCap(launch) + widenWorkspace(m, n, k));
  return std::max(plainLinearLossWorkspace(columns, classes),
                  linearLossLogits(chunk, classes, dtypeBytes(x.dtype)) + 64 + inner);
}

} // namespace cpu
} // namespace sluice
