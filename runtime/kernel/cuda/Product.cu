//===- Product.cu - device/Product.h for GPUs ----------------------------------------------===//
#include "runtime/kernel/cuda/device/Product.h"

using namespace sluice::cuda;

/// Factors of cuBLASLt (BlasProduct.cpp).
extern "C" {
__device__ float sluice_one = 1;
}

#define SLUICE_GLOBAL(symbol, function, Args)                                                                          \
  extern "C" __global__ void symbol(const __grid_constant__ Args args) { function(args, Lane()); }
SLUICE_PRODUCT_KERNELS(SLUICE_GLOBAL)
