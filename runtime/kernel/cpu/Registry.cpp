//===- Registry.cpp - finding a CPU kernel by name ----------------------------===//
#include "runtime/kernel/cpu/Registry.h"

#include "runtime/kernel/cpu/reference/References.h"

namespace sluice {
namespace cpu {
namespace {

PrepareFunction findFast(std::string_view name) {
  for (FastKernels family :
       {pointwiseKernels(), selectionKernels(), creationKernels(), movementKernels(), reductionKernels(),
        logSumExpKernels(), convolutionKernels(), poolingKernels(), batchNormKernels(), matmulKernels(),
        matmulGeluKernels(), softmaxKernels(), geluKernels(), siluKernels(), layerNormKernels(), rmsNormKernels(), ropeKernels(),
        attentionKernels(), embeddingKernels(), crossEntropyKernels(), linearCrossEntropyKernels(), dropoutKernels(),
        stepKernels(), optimizerKernels()})
    for (const FastKernel &kernel : family)
      if (kernel.name == name)
        return kernel.prepare;
  return nullptr;
}

struct Forms {
  std::string_view name;
  PrepareFunction best, reference;
};

constexpr Forms forms[] = {
#define SLUICE_KERNEL(name, inputs, outputs, reduction)                                                                \
  {#name,                                                                                                              \
   [](const KernelRequest &request) {                                                                                  \
     static const PrepareFunction fast = findFast(#name);                                                              \
     return (fast ? fast : reference::name)(request);                                                                  \
   },                                                                                                                  \
   reference::name},
#include "runtime/kernel/catalogue.def"
#undef SLUICE_KERNEL
};

} // namespace

bool hasFastForm(std::string_view name) { return findFast(name) != nullptr; }

} // namespace cpu

PrepareFunction findCpuKernel(std::string_view name, KernelFlavour flavour) {
  using namespace cpu;
  for (const Forms &entry : forms)
    if (entry.name == name)
      return flavour == KernelFlavour::fast ? entry.best : entry.reference;
  return nullptr;
}

} // namespace sluice
