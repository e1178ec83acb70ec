//===- DenseLosses.cu - device/DenseLosses.h for GPUs ----------------------------------------------===//
#include "runtime/kernel/cuda/device/DenseLosses.h"

using namespace sluice::cuda;

#define SLUICE_GLOBAL(symbol, function, Args)                                                                          \
  extern "C" __global__ void symbol(const __grid_constant__ Args args) { function(args, Lane()); }
SLUICE_DENSE_LOSS_KERNELS(SLUICE_GLOBAL)
