//===- KernelContext.cpp - the GPU that kernels are made for --------------------------------------===//
#include "runtime/kernel/cuda/KernelContext.h"

namespace sluice::cuda {

/// The code of a device is loaded once, however many ranks of this process run on it.
static Result<std::shared_ptr<DeviceCode>> sharedCode(const Table &table, int ordinal) {
  static std::mutex mutex;
  static std::map<std::pair<const Table *, int>, std::weak_ptr<DeviceCode>> all;
  std::lock_guard lock(mutex);
  std::weak_ptr<DeviceCode> &known = all[{&table, ordinal}];
  if (std::shared_ptr<DeviceCode> code = known.lock())
    return code;
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<DeviceCode> code, DeviceCode::load(table));
  known = code;
  return code;
}

Result<std::unique_ptr<KernelContext>> KernelContext::create(const Table &table, int ordinal, bool tf32) {
  auto context = std::make_unique<KernelContext>();
  SLUICE_ASSIGN_OR_RETURN(context->loaded, sharedCode(table, ordinal));
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
