//===- RacyKernels.h - kernels with and without a race ------------------------------------===//
#ifndef SLUICE_TEST_CUDA_RACYKERNELS_H
#define SLUICE_TEST_CUDA_RACYKERNELS_H

#include "test/cuda/Emulator.h"

#include <span>

namespace sluice::test {

struct RacyArgs {
  int *y;
};

/// Each needs 4 bytes of shared memory, and of y, for each thread.
std::span<const HostKernel> racyKernels();

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_RACYKERNELS_H
