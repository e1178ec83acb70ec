//===- Table.h - NVIDIA's libraries as one table of functions ---------------------===//
//
// Pointers to all functions of the CUDA driver, cuBLASLt, cuDNN and NCCL that Sluice calls. table() opens the libraries
// once, at the first call, and names a missing or too old one; no program links against them, so it starts on a machine
// without them. Tests replace the table by one whose device is emulated on the host.
//
// The table also holds the device code (Images.h).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_CUDA_TABLE_H
#define SLUICE_RUNTIME_BASE_CUDA_TABLE_H

#include "runtime/base/Status.h"
#include "runtime/base/cuda/Api.h"
#include "runtime/base/cuda/Dnn.h"
#include "runtime/base/cuda/Images.h"

#include <span>
#include <string>
#include <string_view>

namespace sluice::cuda {

struct Driver {
#define SLUICE_DRIVER(name, symbol, arguments) Code(*name) arguments = nullptr;
#include "runtime/base/cuda/functions.def"
#undef SLUICE_DRIVER
};

struct Blas {
#define SLUICE_BLAS(name, symbol, arguments) Code(*name) arguments = nullptr;
#include "runtime/base/cuda/functions.def"
#undef SLUICE_BLAS
};

struct Nccl {
#define SLUICE_NCCL(name, symbol, arguments) Code(*name) arguments = nullptr;
#include "runtime/base/cuda/functions.def"
#undef SLUICE_NCCL
};

struct Dnn {
#define SLUICE_DNN(name, symbol, result, arguments) result(*name) arguments = nullptr;
#include "runtime/base/cuda/functions.def"
#undef SLUICE_DNN
};

struct Table {
  Driver driver;
  Blas blas;
  Nccl nccl;
  Dnn dnn;
  /// Why there is no NCCL, no cuDNN; ok where there is. The driver and cuBLASLt are always there.
  Status ncclAbsence, dnnAbsence;
  std::span<const Image> images;
};

/// Oldest versions: the driver's API, NCCL's and cuDNN's.
inline constexpr int leastDriver = 13000, leastNccl = 22800, leastDnn = 90800;

/// The table of this machine, or the reason for its absence (StatusCode::refused): no driver, one that is too old, no
/// device, no cuBLASLt, a build without device code. Thread-safe.
Result<const Table *> table();

/// Replaces this machine's table by `other` until it is called with null. For tests; not thread-safe.
void setTable(const Table *other);

/// A failure of the driver as a Status: "cuMemAlloc: out of memory (CUDA_ERROR_OUT_OF_MEMORY)". Ok for 0.
Status driverStatus(const Table &table, Code code, std::string_view call);
Status blasStatus(Code code, std::string_view call);
Status ncclStatus(Code code, std::string_view call);
/// With the library's text of its last failure.
Status dnnStatus(const Dnn &dnn, Code code, std::string_view call);
/// "9.19.0" of 91900.
std::string dnnVersionText(std::size_t version);
/// Finds cuDNN's functions in a library of that name; an error states why they are missing.
Status openDnn(Dnn &dnn, const char *name);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_BASE_CUDA_TABLE_H
