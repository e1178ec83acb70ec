//===- Optimizer.cpp - optimizer updates on a GPU ------------------------------------------------------------===//
#include "runtime/kernel/cuda/device/Optimizer.h"
#include "runtime/kernel/cpu/OptimizerUpdate.h"
#include "runtime/kernel/cuda/Prepare.h"

namespace sluice::cuda {
namespace {

void bindOptimizer(OptimizerArgs &args, const RunAddresses &run) {
  const auto states = static_cast<std::size_t>(args.states);
  args.parameter.data = run.inputs[0];
  args.gradient.data = run.inputs[1];
  args.newParameter.data = run.outputs[0];
  for (std::size_t s = 0; s < states; ++s) {
    args.state[s].data = run.inputs[2 + s];
    args.newState[s].data = run.outputs[1 + s];
  }
  args.rate.data = run.inputs[2 + states];
  args.step.data = run.inputs[3 + states];
  args.clip.data = run.inputs[4 + states];
  args.guard.data = run.inputs[5 + states];
}

Bound optimizerOf(std::string_view name, cpu::OptimizerKind kind, const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference(name, request));
  SLUICE_ASSIGN_OR_RETURN(cpu::OptimizerUpdate update, cpu::OptimizerUpdate::of(name, kind, request));
  const auto &in = request.inputs;
  const auto states = static_cast<std::size_t>(update.states);
  OptimizerArgs args;
  args.kind = static_cast<int>(kind);
  args.states = update.states;
  args.nesterov = update.nesterov;
  args.beta1 = update.beta1;
  args.beta2 = update.beta2;
  args.epsilon = update.epsilon;
  args.decay = update.weightDecay;
  args.momentum = update.momentum;
  args.dampening = update.dampening;
  args.parameter = viewOf(in[0]);
  args.gradient = viewOf(in[1]);
  args.newParameter = viewOf(request.outputs[0]);
  for (std::size_t s = 0; s < states; ++s) {
    args.state[s] = viewOf(in[2 + s]);
    args.newState[s] = viewOf(request.outputs[1 + s]);
  }
  args.rate = viewOf(in[2 + states]);
  args.step = viewOf(in[3 + states]);
  args.clip = viewOf(in[4 + states]);
  args.guard = viewOf(in[5 + states]);
  const Operand &first = in[states ? 2 : 0], &second = in[states > 1 ? 3 : 0];
  return oneLaunch<OptimizerArgs>(
      request, symbol("optimizer", {&in[0], &in[1], &first, &second}), gridFor(*request.cuda, in[0].elements()), args,
      bindOptimizer);
}

} // namespace

CudaKernels optimizerKernels() {
  static constexpr CudaKernel kernels[] = {
      {"sgd", [](const KernelRequest &request) { return optimizerOf("sgd", cpu::OptimizerKind::sgd, request); }},
      {"adam", [](const KernelRequest &request) { return optimizerOf("adam", cpu::OptimizerKind::adam, request); }},
      {"adamw", [](const KernelRequest &request) { return optimizerOf("adamw", cpu::OptimizerKind::adamw, request); }},
  };
  return kernels;
}

} // namespace sluice::cuda
