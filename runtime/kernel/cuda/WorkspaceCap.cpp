//===- WorkspaceCap.cpp - scratch memory that a launch declares, by target ----------------------------===//
#include "runtime/kernel/Kernel.h"
#include "runtime/kernel/cuda/Workspace.h"

namespace sluice {

std::uint64_t cudaWorkspaceCap(std::string_view name, std::span<const Operand> inputs, std::span<const Operand> outputs,
                               const Attributes &attributes) {
  const auto elements = [](const Operand &operand) {
    std::int64_t count = 1;
    for (int d = 0; d < operand.rank; ++d)
      count *= operand.shape[d];
    return count;
  };
  if (name == "matmul")
    return cuda::blasWorkspace;
  if ((name == "layer_norm_grad" || name == "rms_norm_grad") && inputs.size() >= 4 && inputs[1].rank > 0)
    return cuda::normGradWorkspace(inputs[1].shape[inputs[1].rank - 1]);
  if (name == "cross_entropy" && inputs.size() == 2)
    return cuda::crossEntropyWorkspace(elements(inputs[1]));
  if (name == "cross_entropy_grad")
    return cuda::crossEntropyGradWorkspace;
  if (name == "attention_grad" && inputs.size() == 6 && inputs[0].rank == 4)
    return cuda::attentionGradWorkspace(inputs[0].shape[0], inputs[0].shape[2], inputs[0].shape[1]);
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
