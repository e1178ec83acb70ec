//===- Code.h - loaded device code --------------------------------------------------===//
//
// Loads the images of a table into the current context and finds functions in them by name. Executors of one process
// share it: code is loaded once a device. Thread-safe.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_CUDA_CODE_H
#define SLUICE_RUNTIME_BASE_CUDA_CODE_H

#include "runtime/base/cuda/Table.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sluice::cuda {

/// How a kernel is launched.
struct LaunchShape {
  std::uint64_t blocks = 1;
  int threads = 256;
  int shared = 0;
};

class DeviceCode {
public:
  static Result<std::shared_ptr<DeviceCode>> load(const Table &table);
  /// The code of the current context, loaded once for all ranks and communicators of this process.
  static Result<std::shared_ptr<DeviceCode>> share(const Table &table);
  ~DeviceCode();

  Result<Function> find(const std::string &name);
  /// The address of a global variable.
  Result<DevicePointer> global(const std::string &name) const;
  /// Launches with one parameter, the kernel's struct of arguments.
  Status launch(Function function, const LaunchShape &shape, const void *arguments, Stream stream) const;
  const Table &table() const { return functions; }

private:
  explicit DeviceCode(const Table &functions) : functions(functions) {}

  const Table &functions;
  std::vector<Module> modules;
  std::mutex mutex;
  std::map<std::string, Function> found;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_BASE_CUDA_CODE_H
