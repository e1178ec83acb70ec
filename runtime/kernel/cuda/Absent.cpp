//===- Absent.cpp - a build without CUDA's kernels ----------------------------------===//
//
// Refuses every kernel with the reason why CUDA is absent.
//
//===----------------------------------------------------------------------===//
#ifdef SLUICE_WITHOUT_CUDA
#include "runtime/base/cuda/Table.h"
#include "runtime/kernel/Kernel.h"

namespace sluice {

static Result<std::unique_ptr<BoundKernel>> refuse(const KernelRequest &) {
  Result<const cuda::Table *> table = cuda::table();
  return table.isOk() ? internalError("a kernel of CUDA in a build without them") : table.takeStatus();
}

PrepareFunction findCudaKernel(KernelId) { return refuse; }
PrepareFunction findCudaKernel(std::string_view name) { return findKernelRecord(name) ? refuse : nullptr; }

} // namespace sluice

#endif // SLUICE_WITHOUT_CUDA
