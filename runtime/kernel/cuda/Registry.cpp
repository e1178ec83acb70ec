//===- Registry.cpp - finding a CUDA kernel --------------------------------------===//
#include "runtime/kernel/cuda/Prepare.h"

namespace sluice {
namespace cuda {
namespace {

PrepareFunction implementationOf(KernelId id) {
  for (const CudaKernels family :
       {pointwiseKernels(), creationKernels(), movementKernels(), reductionKernels(), matmulKernels(), rowKernels(),
        attentionKernels(), indexedKernels(), optimizerKernels(), convolutionKernels(), poolingKernels(),
        batchNormKernels(), linearLossKernels()})
    for (const CudaKernel &kernel : family)
      if (kernel.id == id)
        return kernel.prepare;
  return nullptr;
}

template <KernelId id> Bound prepareAs(const KernelRequest &request) {
  return prepareByRecord(kernelRecord(id), implementationOf(id), request);
}

/// By KernelId.
constexpr PrepareFunction checked[] = {
#define SLUICE_KERNEL(name, form, ...) prepareAs<KernelId::name>,
#include "runtime/kernel/catalogue/catalogue.def"
};

} // namespace
} // namespace cuda

PrepareFunction findCudaKernel(KernelId id) {
  return cuda::implementationOf(id) ? cuda::checked[static_cast<std::size_t>(id)] : nullptr;
}

PrepareFunction findCudaKernel(std::string_view name) {
  const KernelRecord *record = findKernelRecord(name);
  return record ? findCudaKernel(record->id) : nullptr;
}

} // namespace sluice
