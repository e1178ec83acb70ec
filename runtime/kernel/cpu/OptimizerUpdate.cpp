//===- OptimizerUpdate.cpp - resolving the operands of an optimizer update ----===//
#include "runtime/kernel/cpu/OptimizerUpdate.h"

#include <algorithm>
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
  const std::size_t states = update.states;
  update.parameters = std::max<std::size_t>(request.outputs.size() / (1 + states), 1);
  SLUICE_RETURN_IF_ERROR(check.count(update.scalars() + 4, update.outputOf(update.parameters)));
  for (std::size_t p = 0; p < update.parameters; ++p) {
    const Operand *inputs = &request.inputs[update.inputOf(p)], *outputs = &request.outputs[update.outputOf(p)];
    for (std::size_t i = 0; i < 2 + states; ++i) {
      SLUICE_RETURN_IF_ERROR(check.computable(inputs[i]));
      SLUICE_RETURN_IF_ERROR(check.extent(inputs[i], inputs[0]));
    }
    for (std::size_t i = 0; i < 1 + states; ++i) {
      SLUICE_RETURN_IF_ERROR(check.dtype(outputs[i], inputs[i == 0 ? 0 : 1 + i].dtype));
      SLUICE_RETURN_IF_ERROR(check.extent(outputs[i], inputs[0]));
    }
  }
  const Operand *scalars = &request.inputs[update.scalars()];
  for (std::size_t i = 0; i < 4; ++i)
    SLUICE_RETURN_IF_ERROR(check.scalar(scalars[i]));
  SLUICE_RETURN_IF_ERROR(check.computable(scalars[0]));
  SLUICE_RETURN_IF_ERROR(check.dtype(scalars[1], DType::i64));
  SLUICE_RETURN_IF_ERROR(check.computable(scalars[2]));
  SLUICE_RETURN_IF_ERROR(check.dtype(scalars[3], DType::u8));
  return update;
}

OptimizerUpdate::Step OptimizerUpdate::step(const Call &call) const {
  const Operand *given = &call.inputs[scalars()];
  double number = static_cast<double>(given[1].as<std::int64_t>()[0]);
  return {load(given[0], 0), load(given[2], 0), 1 - std::pow(beta1, number), std::sqrt(1 - std::pow(beta2, number)),
          number <= 1};
}

} // namespace sluice::cpu
