//===- OptimizerUpdate.h - the operands of an optimizer update, resolved ------===//
//
// Inputs: parameter, gradient, states..., learning rate, step (i64, from 1), clip coefficient, guard (u8). Outputs:
// parameter, states..., in the memory of those inputs. sgd has the state momentum_buffer if momentum is not 0; adam
// and adamw have exp_avg and exp_avg_sq. Definitions are torch's.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_OPTIMIZERUPDATE_H
#define SLUICE_RUNTIME_KERNEL_CPU_OPTIMIZERUPDATE_H

#include "runtime/kernel/cpu/Bound.h"

namespace sluice::cpu {

enum class OptimizerKind { sgd, adam, adamw };

struct OptimizerUpdate {
  OptimizerKind kind;
  int states = 0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0, momentum = 0, dampening = 0;
  bool nesterov = false;

  /// What differs from step to step.
  struct Step {
    double learningRate, clip, correction1, rootCorrection2;
    bool first;
  };
  Step step(const Call &call) const;
  /// False where the guard forbids the update.
  bool guarded(const Call &call) const { return call.inputs[2 + states + 3].as<std::uint8_t>()[0] != 0; }

  static Result<OptimizerUpdate> of(std::string_view kernel, OptimizerKind kind, const KernelRequest &request);
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_OPTIMIZERUPDATE_H
