//===- OptimizerUpdate.cpp - resolving the operands of an optimizer update ----===//
#include "runtime/kernel/cpu/OptimizerUpdate.h"

#include <cmath>

namespace sluice::cpu {

Result<OptimizerUpdate> OptimizerUpdate::of(std::string_view kernel, OptimizerKind kind,
                                            const KernelRequest &request) {
  Check check(kernel, request);
  OptimizerUpdate update;
  update.kind = kind;
  update.beta1 = numberAttribute(request, "beta1", 0.9);
  update.beta2 = numberAttribute(request, "beta2", 0.999);
  update.epsilon = numberAttribute(request, "epsilon", 1e-8);
  update.weightDecay = numberAttribute(request, "weight_decay", 0);
  update.momentum = numberAttribute(request, "momentum", 0);
  update.dampening = numberAttribute(request, "dampening", 0);
  update.nesterov = numberAttribute(request, "nesterov", 0) != 0;
  update.states = kind != OptimizerKind::sgd ? 2 : update.momentum != 0 ? 1 : 0;
  std::size_t states = update.states;
  SLUICE_RETURN_IF_ERROR(check.count(2 + states + 4, 1 + states));
  const Operand &parameter = request.inputs[0];
  for (std::size_t i = 0; i < 2 + states; ++i) {
    SLUICE_RETURN_IF_ERROR(check.computable(request.inputs[i]));
    SLUICE_RETURN_IF_ERROR(check.extent(request.inputs[i], parameter));
  }
  for (std::size_t i = 0; i < 1 + states; ++i) {
    const Operand &input = request.inputs[i == 0 ? 0 : 1 + i];
    SLUICE_RETURN_IF_ERROR(check.dtype(request.outputs[i], input.dtype));
    SLUICE_RETURN_IF_ERROR(check.extent(request.outputs[i], parameter));
  }
  for (std::size_t i = 2 + states; i < request.inputs.size(); ++i)
    SLUICE_RETURN_IF_ERROR(check.scalar(request.inputs[i]));
  SLUICE_RETURN_IF_ERROR(check.computable(request.inputs[2 + states]));
  SLUICE_RETURN_IF_ERROR(check.dtype(request.inputs[3 + states], DType::i64));
  SLUICE_RETURN_IF_ERROR(check.computable(request.inputs[4 + states]));
  SLUICE_RETURN_IF_ERROR(check.dtype(request.inputs[5 + states], DType::u8));
  return update;
}

OptimizerUpdate::Step OptimizerUpdate::step(const Call &call) const {
  double number = static_cast<double>(call.inputs[3 + states].as<std::int64_t>()[0]);
  return {load(call.inputs[2 + states], 0), load(call.inputs[4 + states], 0), 1 - std::pow(beta1, number),
          std::sqrt(1 - std::pow(beta2, number)), number <= 1};
}

} // namespace sluice::cpu
