//===- Api.h - the types and numbers of NVIDIA's libraries that Sluice uses -------===//
//
// The driver, cuBLASLt and NCCL are reached through pointers found at run time (Table.h), so nothing here needs their
// headers and every build is the same. Handles are opaque pointers. Where a toolkit is installed, a test compares every
// number and size with its headers (test/cuda/ApiTest.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_CUDA_API_H
#define SLUICE_RUNTIME_BASE_CUDA_API_H

#include <cstddef>
#include <cstdint>

namespace sluice::cuda {

/// CUresult, cublasStatus_t and ncclResult_t; 0 is success in all of them.
using Code = int;
using DevicePointer = unsigned long long;
using Context = void *;
using Stream = void *;
using Event = void *;
using Module = void *;
using Function = void *;
using Graph = void *;
using GraphExec = void *;
using HostFunction = void (*)(void *);

/// CUuuid.
struct Uuid {
  unsigned char bytes[16];
};

inline constexpr Code noDevice = 100;
inline constexpr Code noBinaryForGpu = 209;
inline constexpr Code notFound = 500;
inline constexpr Code notReady = 600;

inline constexpr unsigned streamNonBlocking = 1;
inline constexpr unsigned eventDefault = 0;
inline constexpr unsigned eventDisableTiming = 2;
inline constexpr unsigned hostAllocPortable = 1;
inline constexpr int attributeMultiprocessors = 16;
inline constexpr int attributeMajor = 75;
inline constexpr int attributeMinor = 76;
/// Bytes of shared memory that a block can have; a multiprocessor has one KiB more, which each block takes in addition.
inline constexpr int attributeMostShared = 97;
inline constexpr int functionMaxSharedMemory = 8;
inline constexpr int captureThreadLocal = 1;
/// A graph's kernels keep the priorities of the streams that they were captured from.
inline constexpr unsigned long long instantiateNodePriority = 8;

namespace blas {

using Handle = void *;
using MatmulDesc = void *;
using Layout = void *;
using Preference = void *;

inline constexpr int typeF32 = 0, typeF64 = 1, typeF16 = 2, typeBf16 = 14;
inline constexpr int computeF32 = 68, computeF64 = 70, computeTf32 = 77;
inline constexpr std::int32_t operationN = 0, operationT = 1;
/// Where alpha and beta are.
inline constexpr int descPointerMode = 2;
inline constexpr std::int32_t pointersOnDevice = 1;
inline constexpr int descTransposeA = 3, descTransposeB = 4, descEpilogue = 7, descBiasPointer = 8, descBiasType = 26;
/// The number of SMs that a product should use.
inline constexpr int descSmCountTarget = 15;
/// The second matrix of an epilogue: its address, and its leading dimension in elements, a multiple of 8.
inline constexpr int descAuxPointer = 11, descAuxLeading = 12;
inline constexpr int layoutBatchCount = 5, layoutBatchStride = 6;
inline constexpr int propertyMajor = 0, propertyMinor = 1, propertyPatch = 2;
/// The allowed schemes to add up partial sums of several blocks; 0: none.
inline constexpr int preferReductions = 3;
inline constexpr int preferWorkspace = 1, preferAlignmentA = 5, preferAlignmentB = 6, preferAlignmentC = 7,
                     preferAlignmentD = 8;
inline constexpr std::uint32_t epilogueDefault = 1, epilogueBias = 4;
/// Gelu in its tanh form that stores its input in the second matrix, the same after a bias, and gelu's derivative
/// there.
inline constexpr std::uint32_t epilogueGeluAux = 160, epilogueGeluAuxBias = 164, epilogueGeluGrad = 192;

struct Algorithm {
  std::uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace;
  Code state;
  float waves;
  int reserved[4];
};

} // namespace blas

namespace nccl {

using Comm = void *;
using Window = void *;
struct UniqueId {
  char bytes[128];
};

inline constexpr int typeU8 = 1, typeI32 = 2, typeI64 = 4, typeF16 = 6, typeF32 = 7, typeF64 = 8, typeBf16 = 9;
inline constexpr int sum = 0, max = 2, average = 4;
inline constexpr int scalarOnHost = 1;
/// A window has the same offsets on all ranks.
inline constexpr int windowSymmetric = 1;
/// Gathers within a node by copy engines, if source and destination are in symmetric windows.
inline constexpr int ctaPolicyZero = 2;
inline constexpr Code inProgress = 7;

/// ncclConfig_t of 2.28; the library chooses the values that are undefined.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 22800;
  int blocking = undefined;
  int cgaClusterSize = undefined;
  int minCTAs = undefined;
  int maxCTAs = undefined;
  const char *netName = nullptr;
  int splitShare = undefined;
  int trafficClass = undefined;
  const char *commName = nullptr;
  int collnetEnable = undefined;
  int CTAPolicy = undefined;
  int shrinkShare = undefined;
  int nvlsCTAs = undefined;
  int nChannelsPerNetPeer = undefined;
  int nvlinkCentricSched = undefined;
  static constexpr int undefined = -2147483647 - 1;
};

} // namespace nccl
} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_BASE_CUDA_API_H
