//===- Exponential.h - exponentials of numbers that are at most 0 ------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_EXPONENTIAL_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_EXPONENTIAL_H

#include "runtime/base/cuda/Vector.h"

namespace sluice::cuda {

/// e^x for x of at most 0. The error relative to the result is 2^-22 + |x| 2^-24, so that of a sum of n exponentials
/// with 1 among them is below 2^-22 + log(n) 2^-24.
SLUICE_DEVICE float exponentialOf(float x) { return powerOfTwo(x * 1.4426950408889634f); }

/// e^x for x of at most 0, with an error below half a unit in the last place of 16-bit types, or below two of f32.
template <typename S> SLUICE_DEVICE float probabilityOf(float x) {
  return bytesOfStored<S> == 2 ? exponentialOf(x) : expOf(x);
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_EXPONENTIAL_H
