//===- CudaAbsent.cpp - an executor that has no GPU ---------------------------------===//
#ifdef SLUICE_WITHOUT_CUDA
#include "runtime/base/cuda/Table.h"
#include "runtime/executor/Backend.h"

namespace sluice {

Result<std::unique_ptr<Backend>> createCudaBackend(const plan::PlanT &, int, const ExecutorOptions &, int) {
  Result<const cuda::Table *> table = cuda::table();
  return table.isOk() ? internalError("a GPU in a build without CUDA") : table.takeStatus();
}

} // namespace sluice

#endif // SLUICE_WITHOUT_CUDA
