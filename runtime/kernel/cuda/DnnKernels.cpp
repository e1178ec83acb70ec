//===- DnnKernels.cpp - kernels of the catalogue as cuDNN graphs ---------------------------===//
#include "runtime/kernel/cuda/DnnKernels.h"
#include "runtime/kernel/catalogue/DnnAttention.h"
#include "runtime/kernel/cuda/Prepare.h"

#include <algorithm>

namespace sluice::cuda {
namespace {

/// Runs the engine that was chosen.
class DnnKernel final : public BoundKernel {
public:
  explicit DnnKernel(DnnGraph graph) : graph(std::move(graph)) {}

  Status run(std::span<void *const>, std::span<void *const>, void *) override {
    return internalError("a kernel of the cuda device was run without a stream");
  }
  Status enqueue(void *nativeStream, std::span<void *const> inputs, std::span<void *const> outputs,
                 void *workspace) override {
    addresses.assign(inputs.begin(), inputs.end());
    addresses.insert(addresses.end(), outputs.begin(), outputs.end());
    return graph.run(nativeStream, addresses, workspace);
  }

private:
  DnnGraph graph;
  std::vector<void *> addresses;
};

/// The graphs require of every operand: a type of cuDNN, distinct elements, address and length in multiples of 16 bytes
/// (the operands of repetitions are adjacent).
Status checkOperands(const KernelRequest &request) {
  for (const std::span<const Operand> operands : {request.inputs, request.outputs})
    for (const Operand &operand : operands) {
      if (!dnnType(operand.dtype))
        return refusedError("element type, expected f32, bf16, f16 or f64 but got " +
                            std::string(dtypeName(operand.dtype)));
      for (int d = 0; d < operand.rank; ++d)
        if (operand.strides[d] <= 0 || operand.extent[d] <= 0)
          return refusedError("extents and strides, expected at least 1");
      if (reinterpret_cast<std::uintptr_t>(operand.data) % 16 != 0 ||
          static_cast<std::uint64_t>(operand.elements()) * dtypeBytes(operand.dtype) % 16 != 0)
        return refusedError("address and length of an operand, expected multiples of 16 bytes");
    }
  return {};
}

} // namespace

std::span<const DnnForm> dnnForms() {
  static constexpr DnnForm forms[] = {{"conv2d", dnnConvolution},
                                      {"conv2d_input_grad", dnnConvolutionInputGrad},
                                      {"conv2d_weight_grad", dnnConvolutionWeightGrad},
                                      {"attention", dnnAttention, checkDnnAttention},
                                      {"attention_grad", dnnAttentionGrad, checkDnnAttentionGrad},
                                      {"max_pool2d", dnnMaxPool, checkDnnPool},
                                      {"avg_pool2d", dnnMeanPool, checkDnnPool},
                                      {"avg_pool2d_grad", dnnMeanPoolGrad, checkDnnPoolGrad}};
  return forms;
}

Status checkDnn(const DnnForm &form, const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkOperands(request));
  return form.check ? form.check(request) : Status();
}

Status chooseDnn(const DnnForm &form, const KernelRequest &request, bool tf32, DnnGraph &graph) {
  SLUICE_RETURN_IF_ERROR(checkDnn(form, request));
  SLUICE_RETURN_IF_ERROR(form.build(request, graph));
  const bool products = form.kernel.starts_with("conv2d") || form.kernel.starts_with("attention");
  return graph.choose({request.workspace, products && !tf32 && request.inputs[0].dtype == DType::f32});
}

namespace {

/// The kernel with cuDNN, or the reason against it.
Bound prepareDnn(const DnnForm &form, const KernelRequest &request) {
  // A handle takes device memory, so it is created only for a request that cuDNN may take.
  SLUICE_RETURN_IF_ERROR(checkDnn(form, request));
  SLUICE_ASSIGN_OR_RETURN(const dnn::Handle handle, request.cuda->dnnHandle());
  DnnGraph graph = DnnGraph::forHandle(request.cuda->table().dnn, handle);
  SLUICE_RETURN_IF_ERROR(chooseDnn(form, request, request.cuda->usesTf32(), graph));
  request.cuda->dnnUse()->took(form.kernel, graph.engine(), dnnVersionText(request.cuda->table().dnn.version()));
  return std::unique_ptr<BoundKernel>(std::make_unique<DnnKernel>(std::move(graph)));
}

const DnnForm *formOf(const KernelRequest &request) {
  const auto form = std::ranges::find(dnnForms(), request.record->name, &DnnForm::kernel);
  return form == dnnForms().end() ? nullptr : &*form;
}

} // namespace

Bound byDnn(const KernelRequest &request) {
  DnnUse *const use = request.cuda->dnnUse();
  const DnnForm *form = formOf(request);
  if (!use || !form)
    return std::unique_ptr<BoundKernel>();
  Bound kernel = prepareDnn(*form, request);
  if (kernel.isOk())
    return kernel;
  const std::string why = kernel.status().message();
  use->left(form->kernel, why);
  if (use->mode() == DnnMode::on)
    return refusedError("kernel '" + std::string(form->kernel) + "' with --cudnn on: " + why);
  return std::unique_ptr<BoundKernel>();
}

Bound requiredDnn(const KernelRequest &request) {
  const auto refuse = [&](const std::string &why) {
    return refusedError("kernel '" + std::string(request.record->name) + "', which the plan computes by cuDNN: " + why)
        .withNote("'kernels.attention' = \"own\" compiles a plan without cuDNN");
  };
  if (!request.cuda->dnnUse())
    return refuse("cudnn is off ('--cudnn off')");
  const bool isGradient = request.record->id == KernelId::attention_grad;
  if (const int major = request.cuda->computeCapability(); isGradient && !hasDnnAttentionGrad(major))
    return refuse("compute capability, expected 9.x but got " + std::to_string(major) + ".x");
  Bound kernel = prepareDnn(*formOf(request), request);
  return kernel.isOk() ? std::move(kernel) : Bound(refuse(kernel.status().message()));
}

} // namespace sluice::cuda
