//===- DenseSoftmax.cu - device/DenseSoftmax.h for GPUs ---------------------------------------===//
#include "runtime/kernel/cuda/device/DenseSoftmax.h"

using namespace sluice::cuda;

#define SLUICE_GLOBAL(symbol, function, Args)                                                                          \
  extern "C" __global__ void symbol(const __grid_constant__ Args args) { function(args, Lane()); }
SLUICE_DENSE_SOFTMAX_KERNELS(SLUICE_GLOBAL)
