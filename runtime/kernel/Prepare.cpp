//===- Prepare.cpp - a request against the record of its kernel -------------------===//
#include "runtime/kernel/Kernel.h"

namespace sluice {

Result<std::unique_ptr<BoundKernel>> prepareByRecord(const KernelRecord &record, PrepareFunction implementation,
                                                     const KernelRequest &request) {
  const Attributes given = request.attributes ? *request.attributes : Attributes();
  SLUICE_RETURN_IF_ERROR(checkLaunch(record, request.inputs, request.outputs, given));
  const Attributes all = withFallbacks(record, given);
  KernelRequest checked = request;
  checked.attributes = &all;
  checked.record = &record;
  Result<std::unique_ptr<BoundKernel>> kernel = implementation(checked);
  if (kernel.isOk() && !all.undeclared().empty())
    return internalError("kernel '" + std::string(record.name) + "' reads attribute '" + std::string(all.undeclared()) +
                         "', which its record does not declare");
  return kernel;
}

} // namespace sluice
