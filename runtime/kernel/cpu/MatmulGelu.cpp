//===- MatmulGelu.cpp - a product followed by gelu, as two kernels -----------------===//
#include "runtime/kernel/cpu/MatmulGelu.h"
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/cpu/CpuKernels.h"

namespace sluice::cpu {
namespace {

/// Binds and runs both kernels; `isGrad` selects gelu_grad.
class ProductAndGelu final : public BoundKernel {
public:
  ProductAndGelu(std::unique_ptr<BoundKernel> product, std::unique_ptr<BoundKernel> gelu, bool isGrad)
      : product(std::move(product)), gelu(std::move(gelu)), isGrad(isGrad) {}

  Status run(std::span<void *const> inputs, std::span<void *const> outputs, void *workspace) override {
    SLUICE_RETURN_IF_ERROR(product->run(isGrad ? inputs.first(2) : inputs, outputs.first(1), workspace));
    if (!isGrad)
      return gelu->run(outputs.first(1), outputs.last(1), workspace);
    void *const slopes[] = {outputs[0], inputs[2]};
    return gelu->run(slopes, outputs, workspace);
  }

private:
  std::unique_ptr<BoundKernel> product, gelu;
  bool isGrad;
};

} // namespace

Bound matmulGelu(const KernelRequest &request, KernelFlavour flavour, bool isGrad) {
  Check check(request);
  const Operand &first = request.outputs[0];
  for (auto operands : {request.inputs, request.outputs})
    for (const Operand &operand : operands)
      SLUICE_RETURN_IF_ERROR(check.dtype(operand, first.dtype));
  // The product reads only its own attributes.
  KernelRequest inner = request;
  inner.inputs = isGrad ? request.inputs.first(2) : request.inputs;
  inner.outputs = request.outputs.first(1);
  SLUICE_ASSIGN_OR_RETURN(auto product, findCpuKernel(KernelId::matmul, flavour)(inner));
  const Attributes tanhForm({{"approximate", static_cast<std::int64_t>(kernel::GeluForm::tanh), 0, {}}});
  const Operand slopes[] = {first, request.inputs.back()};
  inner.attributes = &tanhForm;
  inner.inputs = isGrad ? std::span<const Operand>(slopes) : request.outputs.first(1);
  inner.outputs = request.outputs.last(1);
  SLUICE_ASSIGN_OR_RETURN(auto gelu, findCpuKernel(isGrad ? KernelId::gelu_grad : KernelId::gelu, flavour)(inner));
  return Bound(std::make_unique<ProductAndGelu>(std::move(product), std::move(gelu), isGrad));
}

Bound fast::matmul_gelu(const KernelRequest &request) { return matmulGelu(request, KernelFlavour::fast, false); }
Bound fast::matmul_gelu_grad(const KernelRequest &request) { return matmulGelu(request, KernelFlavour::fast, true); }

} // namespace sluice::cpu
