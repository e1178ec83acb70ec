//===- WorkspaceCap.cpp - scratch memory that a launch declares, by target ----------------------------===//
#include "runtime/kernel/Kernel.h"
#include "runtime/kernel/cuda/Workspace.h"

#include <algorithm>

namespace sluice {
namespace {

std::int64_t elements(const Operand &operand) {
  std::int64_t count = 1;
  for (int d = 0; d < operand.rank; ++d)
    count *= operand.shape[d];
  return count;
}

std::uint64_t bytesOf(const Operand &operand) { return static_cast<std::uint64_t>(elements(operand)) * dtypeBytes(operand.dtype); }

std::uint64_t linearLossCap(const Operand &x, const Operand &weight, const Operand &targets, const Attributes &attributes) {
  if (weight.rank != 2)
    return 0;
  const std::int64_t rows = std::max<std::int64_t>(elements(targets), 1);
  const std::int64_t chunk = std::clamp<std::int64_t>(attributes.integer("rows", 1), 1, rows);
  return cuda::LinearLossWorkspace(rows, chunk, weight.shape[0], dtypeBytes(x.dtype)).own() + cuda::blasWorkspace;
}

} // namespace

std::uint64_t cudaWorkspaceCap(std::string_view name, std::span<const Operand> inputs, std::span<const Operand> outputs,
                               const Attributes &attributes) {
  if (name == "matmul" || name == "matmul_gelu" || name == "matmul_gelu_grad")
    return cuda::blasWorkspace;
  if ((name == "layer_norm_grad" || name == "rms_norm_grad") && inputs.size() >= 4 && inputs[1].rank > 0)
    return cuda::normGradWorkspace(inputs[1].shape[inputs[1].rank - 1]);
  if (name == "cross_entropy" && inputs.size() == 2)
    return cuda::crossEntropyWorkspace(elements(inputs[1]));
  if (name == "cross_entropy_grad")
    return cuda::crossEntropyGradWorkspace;
  if (name == "attention")
    return cuda::dnnAttentionWorkspace;
  if (name == "attention_grad" && inputs.size() == 6 && inputs[0].rank == 4)
    return cuda::attentionGradWorkspace(inputs[0].shape[0], inputs[0].shape[2], inputs[0].shape[1]);
  if ((name == "batch_norm" || name == "batch_norm_grad") && inputs.size() >= 3 && inputs[0].rank > 0)
    return cuda::batchNormWorkspace(inputs[0].shape[inputs[0].rank - 1]);
  if ((name == "conv2d" || name == "conv2d_input_grad") && inputs.size() >= 2)
    return cuda::dnnConvolutionWorkspace(bytesOf(inputs[1]));
  if (name == "conv2d_weight_grad" && inputs.size() == 2 && outputs.size() == 1 && inputs[0].rank == 4 && outputs[0].rank == 4)
    return std::max(cuda::dnnConvolutionWorkspace(bytesOf(outputs[0])),
                    cuda::convolutionWorkspace(std::max<std::int64_t>(attributes.integer("groups", 1), 1), outputs[0].shape.data(),
                                               inputs[0].shape.data()));
  if (name == "linear_cross_entropy" && inputs.size() == 3)
    return linearLossCap(inputs[0], inputs[1], inputs[2], attributes);
  if (name == "linear_cross_entropy_grad" && inputs.size() == 5)
    return linearLossCap(inputs[1], inputs[2], inputs[3], attributes);
  if (name == "power_sum")
    return cuda::powerSumWorkspace(inputs.size());
  return 0;
}

std::uint64_t workspaceCap(std::string_view name, std::span<const Operand> inputs, std::span<const Operand> outputs,
                           const Attributes &attributes, const KernelTarget &target) {
  return target.device == "cuda" ? cudaWorkspaceCap(name, inputs, outputs, attributes)
                                 : cpuWorkspaceCap(name, inputs, outputs, attributes, target.threads, target.isa);
}

} // namespace sluice
