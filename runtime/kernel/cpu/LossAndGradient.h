//===- LossAndGradient.h - cross entropy, then its gradient ---------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_LOSSANDGRADIENT_H
#define SLUICE_RUNTIME_KERNEL_CPU_LOSSANDGRADIENT_H

#include "runtime/kernel/Kernel.h"

namespace sluice::cpu {

/// The operands of one of the two kernels, of those of both: the factor of the gradient is the last input, the loss and
/// the statistics of its rows are the first outputs.
template <typename Items> std::vector<typename Items::value_type> lossInputs(const Items &inputs) {
  return {inputs.begin(), inputs.end() - 1};
}
template <typename Items> std::vector<typename Items::value_type> lossOutputs(const Items &outputs) {
  return {outputs.begin(), outputs.begin() + 2};
}
template <typename Items>
std::vector<typename Items::value_type> gradientInputs(const Items &inputs, const Items &outputs) {
  std::vector<typename Items::value_type> all{inputs.back()};
  all.insert(all.end(), inputs.begin(), inputs.end() - 1);
  all.push_back(outputs[1]);
  return all;
}
template <typename Items> std::vector<typename Items::value_type> gradientOutputs(const Items &outputs) {
  return {outputs.begin() + 2, outputs.end()};
}

/// `cross_entropy_and_grad` or `linear_cross_entropy_and_grad` as two kernels.
class LossAndGradient final : public BoundKernel {
public:
  /// `inputs`: the number of the inputs, without a sum, which is in an output.
  LossAndGradient(std::unique_ptr<BoundKernel> loss, std::unique_ptr<BoundKernel> gradient, std::size_t inputs)
      : loss(std::move(loss)), gradient(std::move(gradient)), count(inputs) {}

  /// Prepares both for a request of the kernel of both.
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
    part.adds = {};
    std::copy(request.adds.begin() + 2, request.adds.end(), part.adds.begin());
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<BoundKernel> second, gradient(part));
    return std::unique_ptr<BoundKernel>(
        std::make_unique<LossAndGradient>(std::move(first), std::move(second), request.inputs.size()));
  }

  Status run(std::span<void *const> inputs, std::span<void *const> outputs, void *workspace) override {
    return enqueue(nullptr, inputs, outputs, workspace);
  }
  Status enqueue(void *nativeStream, std::span<void *const> inputs, std::span<void *const> outputs,
                 void *workspace) override {
    inputs = inputs.first(count);
    SLUICE_RETURN_IF_ERROR(loss->enqueue(nativeStream, lossInputs(inputs), lossOutputs(outputs), workspace));
    return gradient->enqueue(nativeStream, gradientInputs(inputs, outputs), gradientOutputs(outputs), workspace);
  }

private:
  const std::unique_ptr<BoundKernel> loss, gradient;
  const std::size_t count;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_LOSSANDGRADIENT_H
