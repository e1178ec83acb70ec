//===- Defaults.cpp - every function that Sluice calls of NVIDIA's libraries, doing nothing ------------===//
//
// Compiled once for each library, with SLUICE_STUB_DRIVER, SLUICE_STUB_BLAS, SLUICE_STUB_NCCL or SLUICE_STUB_DNN. All
// return success; Answers.cpp replaces those that must return values.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/cuda/Api.h"
#include "runtime/base/cuda/Dnn.h"

using namespace sluice::cuda;

#define SLUICE_STUB(name, symbol, arguments)                                                                           \
  extern "C" __attribute__((weak, visibility("default"))) Code symbol arguments { return 0; }
#ifdef SLUICE_STUB_DRIVER
#define SLUICE_DRIVER SLUICE_STUB
#endif
#ifdef SLUICE_STUB_BLAS
#define SLUICE_BLAS SLUICE_STUB
#endif
#ifdef SLUICE_STUB_NCCL
#define SLUICE_NCCL SLUICE_STUB
#endif
#ifdef SLUICE_STUB_DNN
#define SLUICE_DNN(name, symbol, result, arguments)                                                                    \
  using symbol##Result = result;                                                                                       \
  extern "C" __attribute__((weak, visibility("default"))) symbol##Result symbol arguments { return symbol##Result(); }
#endif
#include "runtime/base/cuda/functions.def"
