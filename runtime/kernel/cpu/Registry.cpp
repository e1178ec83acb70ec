//===- Registry.cpp - finding a CPU kernel by name ----------------------------===//
#include "runtime/kernel/cpu/Registry.h"

#include "runtime/kernel/cpu/reference/References.h"

namespace sluice {
namespace cpu {
namespace {

constexpr FastKernel references[] = {
#define SLUICE_KERNEL(name, inputs, outputs, reduction) {#name, reference::name},
#include "runtime/kernel/catalogue.def"
#undef SLUICE_KERNEL
};

} // namespace
} // namespace cpu

PrepareFunction findCpuKernel(std::string_view name, KernelFlavour flavour) {
  using namespace cpu;
  if (flavour == KernelFlavour::fast)
    for (FastKernels family :
         {pointwiseKernels(), creationKernels(), movementKernels(), reductionKernels(), matmulKernels(),
          softmaxKernels(), geluKernels(), layerNormKernels(), attentionKernels(), embeddingKernels(),
          crossEntropyKernels(), stepKernels(), optimizerKernels()})
      for (const FastKernel &kernel : family)
        if (kernel.name == name)
          return kernel.prepare;
  for (const FastKernel &kernel : references)
    if (kernel.name == name)
      return kernel.prepare;
  return nullptr;
}

} // namespace sluice
