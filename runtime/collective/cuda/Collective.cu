//===- Collective.cu - reductions between virtual ranks for GPUs --------------------------------===//
#include "runtime/collective/cuda/Reduce.h"

using namespace sluice::cuda;

#define SLUICE_GLOBAL(symbol, function, Args)                                                                          \
  extern "C" __global__ void symbol(const __grid_constant__ Args args) { function(args, Lane()); }
SLUICE_COLLECTIVE_KERNELS(SLUICE_GLOBAL)
