//===- Registry.cpp - finding a CUDA kernel by name ----------------------------===//
#include "runtime/kernel/cuda/Prepare.h"

namespace sluice {

PrepareFunction findCudaKernel(std::string_view name) {
  using namespace cuda;
  for (const CudaKernels family :
       {pointwiseKernels(), creationKernels(), movementKernels(), reductionKernels(), matmulKernels(), rowKernels(),
        attentionKernels(), indexedKernels(), optimizerKernels(), convolutionKernels(), poolingKernels(),
        batchNormKernels(), linearLossKernels()})
    for (const CudaKernel &kernel : family)
      if (kernel.name == name)
        return kernel.prepare;
  return nullptr;
}

} // namespace sluice
