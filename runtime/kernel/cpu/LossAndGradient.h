//===- LossAndGradient.h - cross entropy, then its gradient ---------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_LOSSANDGRADIENT_H
#define SLUICE_RUNTIME_KERNEL_CPU_LOSSANDGRADIENT_H

#include "runtime/kernel/Kernel.h"

namespace sluice::cpu {

/// The operands of one of the two kernels, of those of `cross_entropy_and_grad`.
template <typename Items> std::vector<typename Items::value_type> lossInputs(const Items &inputs) {
  return {inputs[0], inputs[1]};
}
template <typename Items> std::vector<typename Items::value_type> lossOutputs(const Items &outputs) {
  return {outputs[0], outputs[1]};
}
template <typename Items>
std::vector<typename Items::value_type> gradientInputs(const Items &inputs, const Items &outputs) {
  return {inputs[2], inputs[0], inputs[1], outputs[1]};
}
template <typename Items> std::vector<typename Items::value_type> gradientOutputs(const Items &outputs) {
  return {outputs[2]};
}

/// `cross_entropy_and_grad` as two kernels, `cross_entropy` and `cross_entropy_grad`.
class LossAndGradient final : public BoundKernel {
public:
  LossAndGradient(std::unique_ptr<BoundKernel> loss, std::unique_ptr<BoundKernel> gradient)
      : loss(std::move(loss)), gradient(std::move(gradient)) {}

  /// Prepares both for a request of `cross_entropy_and_grad`.
  static Result<std::unique_ptr<BoundKernel>> prepare(const KernelRequest &request, PrepareFunction loss,
                                                      PrepareFunction gradient) {
    const std::vector<Operand> in = lossInputs(request.inputs), out = lossOutputs(request.outputs);
    KernelRequest part = request;
    part.inputs = in;
    part.outputs = out;
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<BoundKernel> first, loss(part));
    const std::vector<Operand> gradientIn = gradientInputs(request.inputs, request.outputs),
                               gradientOut = gradientOutputs(request.outputs);
    part.inputs = gradientIn;
    part.outputs = gradientOut;
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<BoundKernel> second, gradient(part));
    return std::unique_ptr<BoundKernel>(std::make_unique<LossAndGradient>(std::move(first), std::move(second)));
  }

  Status run(std::span<void *const> inputs, std::span<void *const> outputs, void *workspace) override {
    return enqueue(nullptr, inputs, outputs, workspace);
  }
  Status enqueue(void *nativeStream, std::span<void *const> inputs, std::span<void *const> outputs,
                 void *workspace) override {
    SLUICE_RETURN_IF_ERROR(loss->enqueue(nativeStream, lossInputs(inputs), lossOutputs(outputs), workspace));
    return gradient->enqueue(nativeStream, gradientInputs(inputs, outputs), gradientOutputs(outputs), workspace);
  }

private:
  const std::unique_ptr<BoundKernel> loss, gradient;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_LOSSANDGRADIENT_H
