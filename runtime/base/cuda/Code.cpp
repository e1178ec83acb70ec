//===- Code.cpp - loaded device code -------------------------------------------------===//
#include "runtime/base/cuda/Code.h"

namespace sluice::cuda {

/// Most shared memory of a block without a function attribute.
static constexpr int plainSharedMemory = 48 << 10;

Result<std::shared_ptr<DeviceCode>> DeviceCode::load(const Table &table) {
  std::shared_ptr<DeviceCode> code(new DeviceCode(table));
  for (const Image &image : table.images) {
    Module module = nullptr;
    const Code result = table.driver.moduleLoad(&module, image.data);
    if (result == noBinaryForGpu)
      return refusedError("the device code '" + std::string(image.name) +
                          "' (sm_80 or later) has no code for the architecture of the device");
    SLUICE_RETURN_IF_ERROR(driverStatus(table, result, "cuModuleLoadData of " + std::string(image.name)));
    code->modules.push_back(module);
  }
  return code;
}

Result<std::shared_ptr<DeviceCode>> DeviceCode::share(const Table &table) {
  static std::mutex mutex;
  static std::map<std::pair<const Table *, Context>, std::weak_ptr<DeviceCode>> all;
  Context context = nullptr;
  SLUICE_RETURN_IF_ERROR(driverStatus(table, table.driver.contextGet(&context), "cuCtxGetCurrent"));
  std::lock_guard lock(mutex);
  std::weak_ptr<DeviceCode> &known = all[{&table, context}];
  if (std::shared_ptr<DeviceCode> code = known.lock())
    return code;
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<DeviceCode> code, load(table));
  known = code;
  return code;
}

DeviceCode::~DeviceCode() {
  for (Module module : modules)
    functions.driver.moduleUnload(module);
}

Result<Function> DeviceCode::find(const std::string &name) {
  std::lock_guard lock(mutex);
  if (const auto known = found.find(name); known != found.end())
    return known->second;
  for (Module module : modules) {
    Function function = nullptr;
    const Code result = functions.driver.moduleFunction(&function, module, name.c_str());
    if (result == notFound)
      continue;
    SLUICE_RETURN_IF_ERROR(driverStatus(functions, result, "cuModuleGetFunction of " + name));
    found[name] = function;
    return function;
  }
  return internalError("device code has no function '" + name + "'");
}

Result<DevicePointer> DeviceCode::global(const std::string &name) const {
  for (Module module : modules) {
    DevicePointer address = 0;
    std::size_t bytes = 0;
    const Code result = functions.driver.moduleGlobal(&address, &bytes, module, name.c_str());
    if (result == notFound)
      continue;
    SLUICE_RETURN_IF_ERROR(driverStatus(functions, result, "cuModuleGetGlobal of " + name));
    return address;
  }
  return internalError("device code has no variable '" + name + "'");
}

Status DeviceCode::launch(Function function, const LaunchShape &shape, const void *arguments, Stream stream) const {
  if (shape.blocks == 0)
    return {};
  if (shape.blocks > 0x7fffffffu)
    return internalError("blocks of a launch, expected less than 2^31 but got " + std::to_string(shape.blocks));
  if (shape.shared > plainSharedMemory)
    SLUICE_RETURN_IF_ERROR(
        driverStatus(functions, functions.driver.functionAttribute(function, functionMaxSharedMemory, shape.shared),
                     "cuFuncSetAttribute"));
  void *parameters[] = {const_cast<void *>(arguments)};
  return driverStatus(functions,
                      functions.driver.launch(function, static_cast<unsigned>(shape.blocks), 1, 1,
                                              static_cast<unsigned>(shape.threads), 1, 1,
                                              static_cast<unsigned>(shape.shared), stream, parameters, nullptr),
                      "cuLaunchKernel");
}

} // namespace sluice::cuda
