//===- WorkspaceCap.cpp - scratch memory that a launch declares ---------------===//
//
// Pure arithmetic on shapes, so that the compiler can declare a cap without the library. docs/kernels.md derives the
// formulas; a test holds them against what the kernels ask for.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/Kernel.h"
#include "runtime/kernel/cpu/WeightGradCut.h"

#include <algorithm>

namespace sluice {
namespace {

std::int64_t elementsOf(const Operand &operand) {
  std::int64_t count = 1;
  for (int d = 0; d < operand.rank; ++d)
    count *= operand.shape[d];
  return count;
}

std::uint64_t matmulCap(std::span<const Operand> inputs, std::span<const Operand> outputs,
                        const Attributes &attributes, int threads, std::string_view isa) {
  const Operand &a = inputs[0], &c = outputs[0];
  if (a.rank < 2 || c.rank < 2 || a.dtype == DType::f64)
    return 0;
  std::uint64_t cap = cpu::libraryWorkspace(threads, isa == "avx512");
  if (a.dtype == DType::f32)
    return cap;
  // Batches may fold into the rows.
  std::int64_t n = c.shape[c.rank - 1], m = n ? elementsOf(c) / n : 0;
  std::int64_t k = a.shape[attributes.integer("transpose_a") ? a.rank - 2 : a.rank - 1];
  return cap + cpu::widenWorkspace(m, n, k);
}

/// A convolution or one of its derivatives: the weight packed, what the library takes beside, and dense f32 copies; a
/// gradient of x the weight turned round, a weight's gradient at least what its own form takes.
enum class ConvolutionKind { forward, inputGrad, weightGrad };
std::uint64_t convolutionCap(ConvolutionKind kind, const Operand &x, const Operand &weight, const Operand &y,
                             const Operand *bias, const Attributes &attributes, int threads, std::string_view isa) {
  if (x.rank != 4 || weight.rank != 4 || y.rank != 4 || x.dtype == DType::f64)
    return 0;
  std::int64_t groups = std::max<std::int64_t>(attributes.integer("groups", 1), 1);
  std::int64_t outputs = weight.shape[0], inputs = weight.shape[1], kernel = weight.shape[2] * weight.shape[3];
  std::uint64_t cap = cpu::libraryWorkspace(threads, isa == "avx512") +
                      cpu::packedWeightBytes(groups, std::max<std::int64_t>(outputs / groups, 1), inputs, kernel) +
                      cpu::unrolledBytes(x.shape[0], y.shape[1] * y.shape[2], inputs, outputs, kernel);
  if (kind == ConvolutionKind::inputGrad)
    cap += cpu::turnedWeightBytes(outputs, inputs, kernel);
  auto stride = attributes.list("stride"), dilation = attributes.list("dilation");
  if (kind == ConvolutionKind::weightGrad && isa != "avx512" && stride.size() == 2 && dilation.size() == 2) {
    cpu::WeightGradCut::Sizes sizes{x.shape[0],           inputs * groups, outputs, {y.shape[1], y.shape[2]},
                                    {weight.shape[2], weight.shape[3]}, {stride[0], stride[1]}, {dilation[0], dilation[1]}};
    // By the panels of each instruction set.
    if (cpu::WeightGradCut::serves(sizes))
      for (std::int64_t panel : {8, 16})
        cap = std::max(cap, cpu::WeightGradCut(sizes, panel).workspace(sizes, threads));
  }
  for (const Operand *operand : {&x, &weight, &y, bias})
    if (operand && (operand->dtype != DType::f32 || !operand->isDense()))
      cap += static_cast<std::uint64_t>(cpu::roundUp(elementsOf(*operand), 16)) * 4;
  return cap;
}

/// A chunk of logits, a number beside it, and what the largest of the products takes, or cross entropy.
std::uint64_t linearLossCap(const Operand &x, const Operand &weight, const Operand &targets, const Attributes &attributes,
                            int threads, std::string_view isa) {
  if (x.rank < 1 || weight.rank != 2)
    return 0;
  std::int64_t columns = weight.shape[1], classes = weight.shape[0], rows = std::max<std::int64_t>(elementsOf(targets), 1);
  std::int64_t chunk = std::clamp<std::int64_t>(attributes.integer("rows", 1), 1, rows);
  std::uint64_t plain = cpu::plainLinearLossWorkspace(columns, classes);
  std::uint64_t inner = cpu::crossEntropyWorkspace(chunk);
  if (x.dtype != DType::f64)
    inner = std::max(inner, cpu::libraryWorkspace(threads, isa == "avx512"));
  if (x.dtype == DType::bf16 || x.dtype == DType::f16)
    for (auto [m, n, k] : {std::array{chunk, classes, columns}, {chunk, columns, classes}, {classes, columns, chunk}})
      inner = std::max(inner, cpu::libraryWorkspace(threads, isa == "avx512") + cpu::widenWorkspace(m, n, k));
  return std::max(plain, cpu::linearLossLogits(chunk, classes, dtypeBytes(x.dtype)) + 64 + inner);
}

} // namespace

std::uint64_t cpuWorkspaceCap(std::string_view name, std::span<const Operand> inputs, std::span<const Operand> outputs,
                              const Attributes &attributes, int threads, std::string_view isa) {
  auto perThread = static_cast<std::uint64_t>(threads < 1 ? 1 : threads);
  if ((name == "matmul" || name == "matmul_gelu" || name == "matmul_gelu_grad") && inputs.size() >= 2 && !outputs.empty())
    return matmulCap(inputs, outputs, attributes, threads, isa);
  if (name == "conv2d" && inputs.size() >= 2 && outputs.size() == 1)
    return convolutionCap(ConvolutionKind::forward, inputs[0], inputs[1], outputs[0],
                          inputs.size() > 2 ? &inputs[2] : nullptr, attributes, threads, isa);
  if (name == "conv2d_input_grad" && inputs.size() == 2 && outputs.size() == 1)
    return convolutionCap(ConvolutionKind::inputGrad, outputs[0], inputs[1], inputs[0], nullptr, attributes, threads, isa);
  if (name == "conv2d_weight_grad" && inputs.size() == 2 && outputs.size() == 1)
    return convolutionCap(ConvolutionKind::weightGrad, inputs[1], outputs[0], inputs[0], nullptr, attributes, threads, isa);
  if ((name == "batch_norm" || name == "batch_norm_grad") && inputs.size() >= 3 && inputs[1].rank > 0 &&
      inputs[0].rank > 0)
    return cpu::batchNormWorkspace(inputs[0].shape[inputs[0].rank - 1]);
  if ((name == "embedding_grad" || name == "scatter_add") && inputs.size() == 2)
    return static_cast<std::uint64_t>(elementsOf(inputs[1])) * 8;
  if (name == "cross_entropy" && inputs.size() == 2)
    return cpu::crossEntropyWorkspace(elementsOf(inputs[1]));
  if (name == "linear_cross_entropy" && inputs.size() == 3)
    return linearLossCap(inputs[0], inputs[1], inputs[2], attributes, threads, isa);
  if (name == "linear_cross_entropy_grad" && inputs.size() == 5)
    return linearLossCap(inputs[1], inputs[2], inputs[3], attributes, threads, isa);
  if (name == "layer_norm_grad" && inputs.size() == 5 && inputs[1].rank > 0)
    return cpu::layerNormGradWorkspace(inputs[1].shape[inputs[1].rank - 1]);
  if (name == "rms_norm_grad" && inputs.size() == 4 && inputs[1].rank > 0)
    return cpu::rmsNormGradWorkspace(inputs[1].shape[inputs[1].rank - 1]);
  if (name == "attention" && inputs.size() == 3 && inputs[1].rank == 4 && inputs[0].dtype != DType::f64)
    return static_cast<std::uint64_t>(cpu::attentionFloats(inputs[1].shape[1], inputs[1].shape[3])) * 4 * perThread;
  if (name == "attention_grad" && inputs.size() == 6 && inputs[1].rank == 4 && inputs[2].rank == 4 &&
      inputs[1].dtype != DType::f64)
    return static_cast<std::uint64_t>(
               cpu::attentionGradFloats(inputs[1].shape[1], inputs[2].shape[1], inputs[2].shape[3])) *
           4 * perThread;
  return 0;
}

} // namespace sluice
