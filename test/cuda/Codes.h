//===- Codes.h - numbers of NVIDIA's libraries that only fakes use ---------------------===//
#ifndef SLUICE_TEST_CUDA_CODES_H
#define SLUICE_TEST_CUDA_CODES_H

#include "runtime/base/cuda/Api.h"

namespace sluice::cuda {

inline constexpr Code outOfMemory = 2;
inline constexpr Code launchFailed = 719;
inline constexpr Code captureUnsupported = 900;
inline constexpr Code captureInvalidated = 901;
inline constexpr Code capturedEvent = 907;
/// ncclCommSplit: no communicator for this rank.
inline constexpr int noColor = -1;

} // namespace sluice::cuda

#endif // SLUICE_TEST_CUDA_CODES_H
