//===- Optimizer.cpp - optimizer updates, as torch defines them ---------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/OptimizerUpdate.h"

#include <cmath>

namespace sluice::cpu::reference {
namespace {

/// Adam with decay in the gradient, or AdamW with decoupled decay.
void adamStep(const OptimizerUpdate &u, const OptimizerUpdate::Step &step, double &parameter, double gradient,
              double &average, double &square) {
  if (u.kind == kernel::OptimizerKind::adamw)
    parameter *= 1 - step.learningRate * u.weightDecay;
  else
    gradient += u.weightDecay * parameter;
  average += (gradient - average) * (1 - u.beta1);
  square = square * u.beta2 + gradient * gradient * (1 - u.beta2);
  double denominator = std::sqrt(square) / step.rootCorrection2 + u.epsilon;
  parameter -= step.learningRate / step.correction1 * average / denominator;
}

/// The momentum buffer starts at 0, and the gradient of the first step is not dampened.
void sgdStep(const OptimizerUpdate &u, const OptimizerUpdate::Step &step, double &parameter, double gradient,
             double &buffer) {
  gradient += u.weightDecay * parameter;
  if (u.momentum != 0) {
    buffer = u.momentum * buffer + (step.first ? 1 : 1 - u.dampening) * gradient;
    gradient = u.nesterov ? gradient + u.momentum * buffer : buffer;
  }
  parameter -= step.learningRate * gradient;
}

void updateOne(const OptimizerUpdate &u, const OptimizerUpdate::Step &step, const Operand *inputs,
               const Operand *outputs) {
  const Operand &p = inputs[0], &g = inputs[1], &newP = outputs[0];
  std::array<Dims, 7> strides = {p.strides, g.strides, newP.strides};
  for (int i = 0; i < u.states; ++i) {
    strides[3 + i] = inputs[2 + i].strides;
    strides[5 + i] = outputs[1 + i].strides;
  }
  walk(p.rank, p.extent, strides, [&](auto &at) {
    double parameter = load(p, at[0]), gradient = load(g, at[1]) * step.clip, state[2] = {};
    for (int i = 0; i < u.states; ++i)
      state[i] = load(inputs[2 + i], at[3 + i]);
    if (u.kind == kernel::OptimizerKind::sgd)
      sgdStep(u, step, parameter, gradient, state[0]);
    else
      adamStep(u, step, parameter, gradient, state[0], state[1]);
    store(newP, at[2], parameter);
    for (int i = 0; i < u.states; ++i)
      store(outputs[1 + i], at[5 + i], state[i]);
  });
}

Bound optimizer(kernel::OptimizerKind kind, const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(OptimizerUpdate update, OptimizerUpdate::of(kind, request));
  return makeKernel(request, [u = update](Call &call) {
    if (!u.isAllowed(call))
      return Status::ok();
    const OptimizerUpdate::Step step = u.step(call);
    for (std::size_t p = 0; p < u.parameters; ++p)
      updateOne(u, step, &call.inputs[u.inputOf(p)], &call.outputs[u.outputOf(p)]);
    return Status::ok();
  });
}

} // namespace

Bound sgd(const KernelRequest &request) { return optimizer(kernel::OptimizerKind::sgd, request); }
Bound adam(const KernelRequest &request) { return optimizer(kernel::OptimizerKind::adam, request); }
Bound adamw(const KernelRequest &request) { return optimizer(kernel::OptimizerKind::adamw, request); }

} // namespace sluice::cpu::reference
