//===- Table.cpp - opening NVIDIA's libraries --------------------------------------===//
#include "runtime/base/cuda/Table.h"

#include <atomic>
#include <dlfcn.h>
#include <mutex>

namespace sluice::cuda {
namespace {

std::atomic<const Table *> replacement = nullptr;

/// "13.0" of 13000.
std::string driverText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}
/// "2.28.9" of 22809.
std::string ncclText(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

/// One library that stays open for the life of the process.
class Library {
public:
  explicit Library(const char *name) : name(name), handle(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}

  Status opened(std::string_view what, std::string_view advice) const {
    if (handle)
      return {};
    const char *reason = dlerror();
    return refusedError(std::string(what) + ", expected the library " + name +
                        " but got: " + (reason ? reason : "nothing"))
        .withNote(std::string(advice));
  }
  template <typename Pointer> void find(Pointer &pointer, const char *symbol) {
    pointer = reinterpret_cast<Pointer>(dlsym(handle, symbol));
    if (!pointer && missing.empty())
      missing = symbol;
  }
  Status complete() const {
    if (missing.empty())
      return {};
    return refusedError("library " + std::string(name) + ", expected the function " + missing + " but it has none");
  }

private:
  const char *name;
  void *handle;
  std::string missing;
};

Status openDriver(Table &made) {
  Library library("libcuda.so.1");
  SLUICE_RETURN_IF_ERROR(
      library.opened("cuda driver", "install NVIDIA's driver, or compile the plan with target.device = \"cpu\""));
#define SLUICE_DRIVER(name, symbol, arguments) library.find(made.driver.name, #symbol);
#include "runtime/base/cuda/functions.def"
#undef SLUICE_DRIVER
  int version = 0;
  if (made.driver.driverVersion && made.driver.driverVersion(&version) == 0 && version < leastDriver)
    return refusedError("cuda driver, expected version " + driverText(leastDriver) + " or later but got " +
                        driverText(version));
  SLUICE_RETURN_IF_ERROR(library.complete());
  const Code code = made.driver.init(0);
  int count = 0;
  if (code == noDevice || (code == 0 && made.driver.deviceCount(&count) == 0 && count == 0))
    return refusedError("cuda devices of this machine, expected at least 1 but got 0");
  Status status = driverStatus(made, code, "cuInit");
  return status.isOk() ? status : refusedError(status.message());
}

Status openBlas(Table &made) {
  Library library("libcublasLt.so.13");
  SLUICE_RETURN_IF_ERROR(
      library.opened("cublasLt", "install the libraries of CUDA 13, or name their folder in LD_LIBRARY_PATH"));
#define SLUICE_BLAS(name, symbol, arguments) library.find(made.blas.name, #symbol);
#include "runtime/base/cuda/functions.def"
#undef SLUICE_BLAS
  return library.complete();
}

Status openNccl(Table &made) {
  Library library("libnccl.so.2");
  SLUICE_RETURN_IF_ERROR(library.opened("nccl", "install NCCL 2.28, or name its folder in LD_LIBRARY_PATH"));
#define SLUICE_NCCL(name, symbol, arguments) library.find(made.nccl.name, #symbol);
#include "runtime/base/cuda/functions.def"
#undef SLUICE_NCCL
  int version = 0;
  if (made.nccl.version && made.nccl.version(&version) == 0 && version < leastNccl)
    return refusedError("nccl, expected version " + ncclText(leastNccl) + " or later but got " + ncclText(version));
  return library.complete();
}

Result<const Table *> open() {
  static Table made;
  SLUICE_RETURN_IF_ERROR(openDriver(made));
  SLUICE_RETURN_IF_ERROR(openBlas(made));
  made.ncclAbsence = openNccl(made);
  made.dnnAbsence = openDnn(made.dnn, "libcudnn.so.9");
  SLUICE_ASSIGN_OR_RETURN(made.images, deviceImages());
  return static_cast<const Table *>(&made);
}

} // namespace

Result<const Table *> table() {
  if (const Table *other = replacement)
    return other;
  static const Result<const Table *> opened = open();
  return opened;
}

void setTable(const Table *other) { replacement = other; }

std::string dnnVersionText(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Status openDnn(Dnn &dnn, const char *name) {
  Library library(name);
  SLUICE_RETURN_IF_ERROR(library.opened("cudnn", "install cuDNN 9, or name its folder in LD_LIBRARY_PATH"));
#define SLUICE_DNN(name, symbol, result, arguments) library.find(dnn.name, #symbol);
#include "runtime/base/cuda/functions.def"
#undef SLUICE_DNN
  if (dnn.version && dnn.version() < static_cast<std::size_t>(leastDnn))
    return refusedError("cudnn, expected version " + dnnVersionText(leastDnn) + " or later but got " +
                        dnnVersionText(dnn.version()));
  return library.complete();
}

Status driverStatus(const Table &table, Code code, std::string_view call) {
  if (code == 0)
    return {};
  const char *name = nullptr, *text = nullptr;
  if (table.driver.errorName)
    table.driver.errorName(code, &name);
  if (table.driver.errorText)
    table.driver.errorText(code, &text);
  return failedError(std::string(call) + ": " + (text ? text : "unknown error") + " (" +
                     (name ? std::string(name) : "code " + std::to_string(code)) + ")");
}

Status blasStatus(Code code, std::string_view call) {
  return code == 0 ? Status() : failedError(std::string(call) + ": cublas status " + std::to_string(code));
}

Status ncclStatus(Code code, std::string_view call) {
  constexpr std::string_view texts[] = {"success",
                                        "unhandled cuda error",
                                        "system error",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or network error",
                                        "in progress"};
  if (code == 0)
    return {};
  return failedError(std::string(call) + ": " +
                     std::string(code > 0 && code < 8 ? texts[code] : std::string_view("unknown error")) +
                     " (nccl code " + std::to_string(code) + ")");
}

Status dnnStatus(const Dnn &dnn, Code code, std::string_view call) {
  if (code == 0)
    return {};
  const char *name = dnn.errorText ? dnn.errorText(code) : nullptr;
  char text[512] = {};
  if (dnn.lastError)
    dnn.lastError(text, sizeof text - 1);
  return failedError(std::string(call) + ": " + (name ? std::string(name) : std::string("unknown error")) +
                     " (cudnn code " + std::to_string(code) + ")" + (text[0] ? ": " + std::string(text) : ""));
}

} // namespace sluice::cuda
