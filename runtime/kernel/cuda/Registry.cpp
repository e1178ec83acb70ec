//===- Registry.cpp - finding a CUDA kernel --------------------------------------===//
#include "runtime/kernel/cuda/Prepare.h"

namespace sluice {
namespace cuda {
namespace {

/// Prepares the CPU reference first: both refuse the same requests with the same messages.
template <KernelId id, PrepareFunction implementation> Bound prepareAs(const KernelRequest &request) {
  if (!request.cuda)
    return internalError("a kernel of the cuda device was prepared without one");
  KernelRequest onCpu = request;
  onCpu.workspace = ~std::uint64_t(0);
  SLUICE_RETURN_IF_ERROR(findCpuKernel(id, KernelFlavour::reference)(onCpu).status());
  return prepareByRecord(kernelRecord(id), implementation, request);
}

/// By KernelId.
constexpr PrepareFunction prepareFunctions[] = {
#define SLUICE_KERNEL(name, form, ...) prepareAs<KernelId::name, kernels::name>,
#include "runtime/kernel/catalogue/catalogue.def"
};

} // namespace
} // namespace cuda

PrepareFunction findCudaKernel(KernelId id) { return cuda::prepareFunctions[static_cast<std::size_t>(id)]; }

PrepareFunction findCudaKernel(std::string_view name) {
  const KernelRecord *record = findKernelRecord(name);
  return record ? findCudaKernel(record->id) : nullptr;
}

} // namespace sluice
