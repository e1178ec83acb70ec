//===- DnnKernels.h - kernels of the catalogue as cuDNN graphs -----------------------------===//
//
// A form builds the graph of a kernel's request, or refuses the request; it needs no device. byDnn() prepares the
// kernel that runs the graph.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DNNKERNELS_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DNNKERNELS_H

#include "runtime/kernel/Kernel.h"
#include "runtime/kernel/cuda/DnnGraph.h"

namespace sluice::cuda {

/// The graph of a kernel. Addresses of a run are the request's inputs, then its outputs.
struct DnnForm {
  std::string_view kernel;
  /// Failures of cuDNN's calls are in the graph's status.
  Status (*build)(const KernelRequest &request, DnnGraph &graph);
  /// Refuses operations that cuDNN lacks; null: it has all.
  Status (*check)(const KernelRequest &request) = nullptr;
};
std::span<const DnnForm> dnnForms();

/// Refuses a request that the form does not support; does not call the library.
Status checkDnn(const DnnForm &form, const KernelRequest &request);
/// Builds the graph and chooses an engine. `tf32`: the inputs of f32 products may be rounded to TF32.
Status chooseDnn(const DnnForm &form, const KernelRequest &request, bool tf32, DnnGraph &graph);

/// The kernel with cuDNN; null if there is no form of it, if cuDNN is disabled, or if it is not required and has no
/// engine for the request. The CPU reference has accepted the request.
Result<std::unique_ptr<BoundKernel>> byDnn(const KernelRequest &request);
/// The same for a kernel that the plan requires of cuDNN: every reason against it is a refusal.
Result<std::unique_ptr<BoundKernel>> requiredDnn(const KernelRequest &request);

/// An image [N, H, W, C] in memory.
DnnTensor dnnImage(DnnGraph &graph, int place, const Operand &image);

Status dnnConvolution(const KernelRequest &request, DnnGraph &graph);
Status dnnConvolutionInputGrad(const KernelRequest &request, DnnGraph &graph);
Status dnnConvolutionWeightGrad(const KernelRequest &request, DnnGraph &graph);
Status dnnAttention(const KernelRequest &request, DnnGraph &graph);
Status dnnAttentionGrad(const KernelRequest &request, DnnGraph &graph);
Status checkDnnAttention(const KernelRequest &request);
Status checkDnnAttentionGrad(const KernelRequest &request);
Status dnnMaxPool(const KernelRequest &request, DnnGraph &graph);
Status dnnMeanPool(const KernelRequest &request, DnnGraph &graph);
Status dnnMeanPoolGrad(const KernelRequest &request, DnnGraph &graph);
Status checkDnnPool(const KernelRequest &request);
Status checkDnnPoolGrad(const KernelRequest &request);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DNNKERNELS_H
