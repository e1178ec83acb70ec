//===- OptimizerUpdate.h - the operands of an optimizer update, resolved ------===//
//
// Inputs: parameter, gradient, states... of each parameter, then learning rate, step (i64, from 1), clip coefficient,
// guard (u8). Outputs: parameter, states... of each parameter, in the memory of those inputs. sgd has the state
// momentum_buffer if momentum is not 0; adam and adamw have exp_avg and exp_avg_sq. Definitions are torch's.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_OPTIMIZERUPDATE_H
#define SLUICE_RUNTIME_KERNEL_CPU_OPTIMIZERUPDATE_H

#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/cpu/Bound.h"

namespace sluice::cpu {

struct OptimizerUpdate {
  kernel::OptimizerKind kind;
  /// States of each parameter.
  int states = 0;
  std::size_t parameters = 1;
  double beta1 = 0, beta2 = 0, epsilon = 0, weightDecay = 0, momentum = 0, dampening = 0;
  bool nesterov = false;

  /// The scalars of a step.
  struct Step {
    double learningRate, clip, correction1, rootCorrection2;
    bool first;
  };
  Step step(const Call &call) const;
  /// False where the guard is 0: nothing is written.
  bool isAllowed(const Call &call) const { return call.inputs[scalars() + 3].as<std::uint8_t>()[0] != 0; }

  /// First input and output of a parameter; the scalars follow the inputs of all parameters.
  std::size_t inputOf(std::size_t parameter) const { return parameter * static_cast<std::size_t>(2 + states); }
  std::size_t outputOf(std::size_t parameter) const { return parameter * static_cast<std::size_t>(1 + states); }
  std::size_t scalars() const { return inputOf(parameters); }

  static Result<OptimizerUpdate> of(kernel::OptimizerKind kind, const KernelRequest &request);
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_OPTIMIZERUPDATE_H
