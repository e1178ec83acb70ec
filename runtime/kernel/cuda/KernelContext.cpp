//===- KernelContext.cpp - the GPU for which kernels are prepared --------------------------------===//
#include "runtime/kernel/cuda/KernelContext.h"

namespace sluice::cuda {

Result<std::unique_ptr<KernelContext>> KernelContext::create(const Table &table, int ordinal, bool tf32) {
  auto context = std::make_unique<KernelContext>();
  SLUICE_ASSIGN_OR_RETURN(context->loaded, DeviceCode::share(table));
  int device = 0;
  SLUICE_RETURN_IF_ERROR(driverStatus(table, table.driver.deviceGet(&device, ordinal), "cuDeviceGet"));
  SLUICE_RETURN_IF_ERROR(driverStatus(
      table, table.driver.deviceAttribute(&context->count, attributeMultiprocessors, device), "cuDeviceGetAttribute"));
  SLUICE_RETURN_IF_ERROR(driverStatus(table, table.driver.deviceAttribute(&context->major, attributeMajor, device),
                                      "cuDeviceGetAttribute"));
  SLUICE_RETURN_IF_ERROR(driverStatus(
      table, table.driver.deviceAttribute(&context->mostShared, attributeMostShared, device), "cuDeviceGetAttribute"));
  char name[128] = {};
  SLUICE_RETURN_IF_ERROR(
      driverStatus(table, table.driver.deviceName(name, sizeof name - 1, device), "cuDeviceGetName"));
  context->name = name;
  SLUICE_RETURN_IF_ERROR(blasStatus(table.blas.create(&context->handle), "cublasLtCreate"));
  context->tf32 = tf32;
  return context;
}

Status KernelContext::useAlgorithms(std::shared_ptr<Algorithms> algorithms, const std::string &plan) {
  std::string library = "cublasLt ";
  for (const int property : {blas::propertyMajor, blas::propertyMinor, blas::propertyPatch}) {
    int number = 0;
    SLUICE_RETURN_IF_ERROR(blasStatus(table().blas.property(property, &number), "cublasLtGetProperty"));
    library += (property == blas::propertyMajor ? "" : ".") + std::to_string(number);
  }
  int driver = 0;
  SLUICE_RETURN_IF_ERROR(driverStatus(table(), table().driver.driverVersion(&driver), "cuDriverGetVersion"));
  library += ", driver " + std::to_string(driver);
  SLUICE_RETURN_IF_ERROR(algorithms->open({plan, name + ", " + std::to_string(count) + " multiprocessors", library}));
  chosen = std::move(algorithms);
  return {};
}

Status KernelContext::useDnn(std::shared_ptr<DnnUse> use) {
  if (use->mode() == DnnMode::on)
    SLUICE_RETURN_IF_ERROR(Status(table().dnnAbsence));
  dnn = std::move(use);
  return {};
}

Result<dnn::Handle> KernelContext::dnnHandle() {
  SLUICE_RETURN_IF_ERROR(Status(table().dnnAbsence));
  if (!openedDnn)
    SLUICE_RETURN_IF_ERROR(dnnStatus(table().dnn, table().dnn.create(&openedDnn), "cudnnCreate"));
  return openedDnn;
}

KernelContext::~KernelContext() {
  if (openedDnn)
    table().dnn.destroy(openedDnn);
  if (handle)
    table().blas.destroy(handle);
}

} // namespace sluice::cuda
