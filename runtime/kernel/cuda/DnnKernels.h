//===- DnnKernels.h - kernels of the catalogue as graphs of cuDNN
//-------------------------------------------------------===//
//
// Each form says a kernel's request in cuDNN's operations, or refuses it in words; it needs no device. byDnn() makes
// the kernel that runs it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DNNKERNELS_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DNNKERNELS_H

#include "runtime/kernel/Kernel.h"
#include "runtime/kernel/cuda/DnnGraph.h"

namespace sluice::cuda {

/// Addresses of a run: the request's inputs, then its outputs.
struct DnnForm {
  std::string_view kernel;
  /// Failures of cuDNN's calls are the graph's.
  Status (*build)(const KernelRequest &request, DnnGraph &graph);
  /// Refused where cuDNN has no such operation; null: it has them all.
  Status (*check)(const KernelRequest &request) = nullptr;
};
std::span<const DnnForm> dnnForms();

/// Refused where the form does not say the request; asks nothing of the library.
Status checkDnn(const DnnForm &form, const KernelRequest &request);
/// Builds and chooses. `tf32`: products of f32 may be rounded to it.
Status chooseDnn(const DnnForm &form, const KernelRequest &request, bool tf32, DnnGraph &graph);

/// The kernel by cuDNN; null where it is not asked for, or where it has nothing for this request and need not. The
/// request is one that checkAsReference() has accepted.
Result<std::unique_ptr<BoundKernel>> byDnn(std::string_view kernel, const KernelRequest &request);

Status dnnConvolution(const KernelRequest &request, DnnGraph &graph);
Status dnnConvolutionInputGrad(const KernelRequest &request, DnnGraph &graph);
Status dnnConvolutionWeightGrad(const KernelRequest &request, DnnGraph &graph);
Status dnnAttention(const KernelRequest &request, DnnGraph &graph);
Status checkDnnAttention(const KernelRequest &request);
Status dnnMaxPool(const KernelRequest &request, DnnGraph &graph);
Status dnnMeanPool(const KernelRequest &request, DnnGraph &graph);
Status dnnMeanPoolGrad(const KernelRequest &request, DnnGraph &graph);
Status checkDnnPool(const KernelRequest &request);
Status checkDnnPoolGrad(const KernelRequest &request);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DNNKERNELS_H
