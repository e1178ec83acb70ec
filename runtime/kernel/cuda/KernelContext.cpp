//===- KernelContext.cpp - the GPU that kernels are made for --------------------------------------===//
#include "runtime/kernel/cuda/KernelContext.h"

namespace sluice::cuda {

Result<std::unique_ptr<KernelContext>> KernelContext::create(const Table &table, int ordinal, bool tf32) {
  auto context = std::make_unique<KernelContext>();
  SLUICE_ASSIGN_OR_RETURN(context->loaded, DeviceCode::share(table));
  int device = 0;
  SLUICE_RETURN_IF_ERROR(driverStatus(table, table.driver.deviceGet(&device, ordinal), "cuDeviceGet"));
  SLUICE_RETURN_IF_ERROR(driverStatus(
      table, table.driver.deviceAttribute(&context->count, attributeMultiprocessors, device), "cuDeviceGetAttribute"));
  SLUICE_RETURN_IF_ERROR(blasStatus(table.blas.create(&context->handle), "cublasLtCreate"));
  context->tf32 = tf32;
  return context;
}

KernelContext::~KernelContext() {
  if (handle)
    table().blas.destroy(handle);
}

} // namespace sluice::cuda
