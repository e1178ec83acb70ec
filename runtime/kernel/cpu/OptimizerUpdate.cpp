//===- OptimizerUpdate.cpp - resolving the operands of an optimizer update ----===//
#include "runtime/kernel/cpu/OptimizerUpdate.h"

#include <algorithm>
#include <cmath>

namespace sluice::cpu {

Result<OptimizerUpdate> OptimizerUpdate::of(kernel::OptimizerKind kind, const KernelRequest &request) {
  Check check(request);
  OptimizerUpdate update;
  update.kind = kind;
  update.weightDecay = request.attributes->number("weight_decay");
  if (kind == kernel::OptimizerKind::sgd) {
    update.momentum = request.attributes->number("momentum");
    update.dampening = request.attributes->number("dampening");
    update.nesterov = request.attributes->integer("nesterov") != 0;
    update.states = update.momentum != 0 ? 1 : 0;
  } else {
    update.beta1 = request.attributes->number("beta1");
    update.beta2 = request.attributes->number("beta2");
    update.epsilon = request.attributes->number("epsilon");
    update.states = 2;
  }
  const std::size_t states = update.states;
  update.parameters = std::max<std::size_t>(request.outputs.size() / (1 + states), 1);
  for (std::size_t p = 0; p < update.parameters; ++p) {
    const Operand *inputs = &request.inputs[update.inputOf(p)], *outputs = &request.outputs[update.outputOf(p)];
    for (std::size_t i = 0; i < 1 + states; ++i)
      SLUICE_RETURN_IF_ERROR(check.dtype(outputs[i], inputs[i == 0 ? 0 : 1 + i].dtype));
  }
  return update;
}

OptimizerUpdate::Step OptimizerUpdate::step(const Call &call) const {
  const Operand *given = &call.inputs[scalars()];
  double number = static_cast<double>(given[1].as<std::int64_t>()[0]);
  return {load(given[0], 0), load(given[2], 0), 1 - std::pow(beta1, number), std::sqrt(1 - std::pow(beta2, number)),
          number <= 1};
}

} // namespace sluice::cpu
