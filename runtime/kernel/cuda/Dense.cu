//===- Dense.cu - device/Dense.h for GPUs ----------------------------------------------===//
#include "runtime/kernel/cuda/device/Dense.h"

using namespace sluice::cuda;

#define SLUICE_GLOBAL(symbol, function, Args)                                                                          \
  extern "C" __global__ void symbol(const __grid_constant__ Args args) { function(args, Lane()); }
SLUICE_DENSE_KERNELS(SLUICE_GLOBAL)
