//===- Registry.cpp - finding a CPU kernel by name ----------------------------===//
#include "runtime/kernel/cpu/Registry.h"

#include "runtime/kernel/cpu/reference/References.h"

#include <algorithm>

namespace sluice {
namespace cpu {
namespace {

PrepareFunction findFast(std::string_view name) {
  for (FastKernels family :
       {pointwiseKernels(), selectionKernels(), creationKernels(), movementKernels(), reductionKernels(),
        logSumExpKernels(), convolutionKernels(), poolingKernels(), batchNormKernels(), matmulKernels(),
        softmaxKernels(), geluKernels(), siluKernels(), layerNormKernels(), rmsNormKernels(), ropeKernels(),
        attentionKernels(), embeddingKernels(), crossEntropyKernels(), linearCrossEntropyKernels(), dropoutKernels(),
        stepKernels(), optimizerKernels()})
    for (const FastKernel &kernel : family)
      if (kernel.name == name)
        return kernel.prepare;
  return nullptr;
}

/// Fast forms are written for f32, bf16 and some for f64.
bool hasHalf(const KernelRequest &request) {
  auto isHalf = [](const Operand &operand) { return operand.dtype == DType::f16; };
  return std::any_of(request.inputs.begin(), request.inputs.end(), isHalf) ||
         std::any_of(request.outputs.begin(), request.outputs.end(), isHalf);
}

Bound prepare(PrepareFunction fast, PrepareFunction reference, const KernelRequest &request) {
  return fast && !hasHalf(request) ? fast(request) : reference(request);
}

struct Forms {
  std::string_view name;
  PrepareFunction best, reference;
};

constexpr Forms kernels[] = {
#define SLUICE_KERNEL(name, inputs, outputs, reduction)                                                                \
  {#name,                                                                                                              \
   [](const KernelRequest &request) {                                                                                  \
     static const PrepareFunction fast = findFast(#name);                                                              \
     return prepare(fast, reference::name, request);                                                                   \
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
  for (const Forms &forms : kernels)
    if (forms.name == name)
      return flavour == KernelFlavour::fast ? forms.best : forms.reference;
  return nullptr;
}

} // namespace sluice
