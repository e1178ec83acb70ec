//===- AttentionTensorGrad.cu - device/AttentionTensorGrad.h for GPUs
//----------------------------------------------===//
#include "runtime/kernel/cuda/device/AttentionTensorGrad.h"

using namespace sluice::cuda;

#define SLUICE_GLOBAL(symbol, function, Args)                                                                          \
  extern "C" __global__ void __launch_bounds__(headThreads) symbol(const __grid_constant__ Args args) {                \
    function(args, Lane());                                                                                            \
  }
SLUICE_ATTENTION_TENSOR_GRAD_KERNELS(SLUICE_GLOBAL)
