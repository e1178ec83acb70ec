//===- LossAndGradient.cu - device/LossAndGradient.h for GPUs ------------------------------------------===//
#include "runtime/kernel/cuda/device/LossAndGradient.h"

using namespace sluice::cuda;

#define SLUICE_GLOBAL(symbol, function, Args)                                                                          \
  extern "C" __global__ void symbol(const __grid_constant__ Args args) { function(args, Lane()); }
SLUICE_LOSS_AND_GRADIENT_KERNELS(SLUICE_GLOBAL)
