//===- ApiTest.cpp - our numbers of NVIDIA's interfaces against their headers ------------------===//
#include "runtime/base/cuda/Table.h"
#include "test/cuda/Codes.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <set>

#if __has_include(<cuda.h>) && __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <cuda.h>
#define SLUICE_HAS_CUDA_HEADERS 1
#endif
#if __has_include(<nccl.h>) && defined(SLUICE_HAS_CUDA_HEADERS)
#include <nccl.h>
#endif

namespace sluice::test {
namespace {

#ifdef SLUICE_HAS_CUDA_HEADERS
// Tests that constants and layouts are those of the toolkit.
TEST(CudaApi, MatchesTheToolkit) {
  using namespace cuda;
  EXPECT_EQ(outOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(noDevice, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(noBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(notFound, CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(notReady, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(launchFailed, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(captureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(captureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(capturedEvent, CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(instantiateNodePriority, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
  EXPECT_EQ(streamNonBlocking, CU_STREAM_NON_BLOCKING);
  EXPECT_EQ(eventDisableTiming, CU_EVENT_DISABLE_TIMING);
  EXPECT_EQ(hostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
  EXPECT_EQ(attributeMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(attributeMostShared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  EXPECT_EQ(attributeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(attributeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(functionMaxSharedMemory, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(captureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(sizeof(DevicePointer), sizeof(CUdeviceptr));
  EXPECT_EQ(sizeof(Uuid), sizeof(CUuuid));
  EXPECT_EQ(blas::typeF32, CUDA_R_32F);
  EXPECT_EQ(blas::typeF64, CUDA_R_64F);
  EXPECT_EQ(blas::typeF16, CUDA_R_16F);
  EXPECT_EQ(blas::typeBf16, CUDA_R_16BF);
  EXPECT_EQ(blas::computeF32, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(blas::computeF64, CUBLAS_COMPUTE_64F);
  EXPECT_EQ(blas::computeTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(blas::operationN, CUBLAS_OP_N);
  EXPECT_EQ(blas::operationT, CUBLAS_OP_T);
  EXPECT_EQ(blas::descPointerMode, CUBLASLT_MATMUL_DESC_POINTER_MODE);
  EXPECT_EQ(blas::pointersOnDevice, CUBLASLT_POINTER_MODE_DEVICE);
  EXPECT_EQ(blas::descTransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(blas::descTransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_EQ(blas::descEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
  EXPECT_EQ(blas::descBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  EXPECT_EQ(blas::descBiasType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
  EXPECT_EQ(blas::descSmCountTarget, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET);
  EXPECT_EQ(blas::descAuxPointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
  EXPECT_EQ(blas::descAuxLeading, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
  EXPECT_EQ(blas::layoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  EXPECT_EQ(blas::layoutBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  EXPECT_EQ(blas::preferReductions, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  EXPECT_EQ(0, CUBLASLT_REDUCTION_SCHEME_NONE);
  EXPECT_EQ(blas::propertyMajor, MAJOR_VERSION);
  EXPECT_EQ(blas::propertyMinor, MINOR_VERSION);
  EXPECT_EQ(blas::propertyPatch, PATCH_LEVEL);
  EXPECT_EQ(blas::preferWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(blas::preferAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  EXPECT_EQ(blas::preferAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  EXPECT_EQ(static_cast<int>(blas::epilogueDefault), CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_EQ(static_cast<int>(blas::epilogueBias), CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(static_cast<int>(blas::epilogueGeluAux), CUBLASLT_EPILOGUE_GELU_AUX);
  EXPECT_EQ(static_cast<int>(blas::epilogueGeluAuxBias), CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  EXPECT_EQ(static_cast<int>(blas::epilogueGeluGrad), CUBLASLT_EPILOGUE_DGELU);
  EXPECT_EQ(sizeof(blas::Algorithm), sizeof(cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(blas::Heuristic), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(blas::Heuristic, workspace), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(offsetof(blas::Heuristic, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
}
#else
TEST(CudaApi, MatchesTheToolkit) { GTEST_SKIP() << "cuda toolkit: no cuda.h and cublasLt.h here"; }
#endif

#if defined(NCCL_VERSION_CODE) && NCCL_VERSION_CODE >= 22800
TEST(CudaApi, MatchesNccl) {
  using namespace cuda;
  EXPECT_EQ(sizeof(nccl::Config), sizeof(ncclConfig_t));
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  const nccl::Config ours;
  EXPECT_EQ(ours.magic, theirs.magic);
  EXPECT_EQ(ours.blocking, theirs.blocking);
  EXPECT_EQ(ours.nvlinkCentricSched, theirs.nvlinkCentricSched);
  EXPECT_EQ(offsetof(nccl::Config, commName), offsetof(ncclConfig_t, commName));
  EXPECT_EQ(sizeof(nccl::UniqueId), sizeof(ncclUniqueId));
  EXPECT_EQ(nccl::typeU8, ncclUint8);
  EXPECT_EQ(nccl::typeI32, ncclInt32);
  EXPECT_EQ(nccl::typeI64, ncclInt64);
  EXPECT_EQ(nccl::typeF16, ncclFloat16);
  EXPECT_EQ(nccl::typeF32, ncclFloat32);
  EXPECT_EQ(nccl::typeF64, ncclFloat64);
  EXPECT_EQ(nccl::typeBf16, ncclBfloat16);
  EXPECT_EQ(nccl::sum, ncclSum);
  EXPECT_EQ(nccl::max, ncclMax);
  EXPECT_EQ(nccl::average, ncclAvg);
  EXPECT_EQ(nccl::scalarOnHost, ncclScalarHostImmediate);
  EXPECT_EQ(nccl::windowSymmetric, NCCL_WIN_COLL_SYMMETRIC);
  EXPECT_EQ(sizeof(nccl::Window), sizeof(ncclWindow_t));
  EXPECT_EQ(nccl::ctaPolicyZero, NCCL_CTA_POLICY_ZERO);
  EXPECT_EQ(nccl::inProgress, ncclInProgress);
  EXPECT_EQ(noColor, NCCL_SPLIT_NOCOLOR);
}
#else
TEST(CudaApi, MatchesNccl) { GTEST_SKIP() << "nccl: no nccl.h of 2.28 or later here"; }
#endif

// Tests that codes without a name are printed as numbers.
TEST(CudaApi, ErrorsWithoutAName) {
  EXPECT_EQ(cuda::ncclStatus(77, "ncclBroadcast").message(), "ncclBroadcast: unknown error (nccl code 77)");
  EXPECT_EQ(cuda::driverStatus({}, 998, "cuInit").message(), "cuInit: unknown error (code 998)");
}

// Tests that the library of device code next to the program is found, and has an image of each file.
TEST(CudaApi, DeviceCodeIsNextToTheProgram) {
  const Result<std::span<const cuda::Image>> images = cuda::deviceImages();
  if (!images.isOk() && images.status().message().ends_with("without nvcc of CUDA 13"))
    GTEST_SKIP() << images.status().message();
  ASSERT_TRUE(images.isOk()) << images.status().message();
  std::set<std::string> found, expected;
  for (const cuda::Image &image : *images)
    found.emplace(image.name);
  for (const char *folder : {"/runtime/kernel/cuda", "/runtime/collective/cuda"})
    for (const auto &file : std::filesystem::directory_iterator(std::string(SLUICE_SOURCE_DIR) + folder))
      if (file.path().extension() == ".cu")
        expected.insert(file.path().stem());
  EXPECT_GT(expected.size(), 10u);
  EXPECT_EQ(found, expected);
}

// Tests the errors of a machine without a driver and of a build without device code.
TEST(CudaApi, AMissingDriverIsAnError) {
  const auto found = cuda::table();
  if (found.isOk())
    GTEST_SKIP() << "cuda: this machine has a GPU";
  EXPECT_EQ(found.status().code(), StatusCode::refused);
  EXPECT_TRUE(found.status().message().starts_with("cuda ")) << found.status().message();
  EXPECT_NE(found.status().message().find("expected"), std::string::npos);
}

} // namespace
} // namespace sluice::test
