//===- Optimizer.h - optimizer updates -----------------------------------------------------------===//
//
// torch's definitions. Where the guard is 0 nothing is written. Rate, step, clip coefficient and guard are read from memory,
// so that a captured step replays unchanged.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_OPTIMIZER_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_OPTIMIZER_H

#include "runtime/base/cuda/Element.h"

namespace sluice::cuda {

enum class OptimizerKindOf : int { sgd, adam, adamw };

struct OptimizerArgs {
  View parameter, gradient, state[2], newParameter, newState[2];
  View rate, step, clip, guard;
  int kind = 0, states = 0, nesterov = 0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, decay = 0, momentum = 0, dampening = 0;
};

template <typename E> SLUICE_DEVICE void optimizer(const OptimizerArgs &args, Lane lane) {
  using T = typename E::Real;
  if (static_cast<const unsigned char *>(args.guard.data)[0] == 0)
    return;
  const double number = static_cast<double>(static_cast<const Index *>(args.step.data)[0]), rate = readAny(args.rate, 0);
  const T clip = static_cast<T>(readAny(args.clip, 0)), decay = static_cast<T>(args.decay);
  const bool sgd = args.kind == static_cast<int>(OptimizerKindOf::sgd), first = number <= 1;
  const bool decoupled = args.kind == static_cast<int>(OptimizerKindOf::adamw);
  const T rootCorrection = sgd ? T(1) : static_cast<T>(sqrt(1 - pow(args.beta2, number)));
  const T size = static_cast<T>(sgd ? rate : rate / (1 - pow(args.beta1, number)));
  const T keep = static_cast<T>(1 - rate * args.decay), epsilon = static_cast<T>(args.epsilon);
  const T momentum = static_cast<T>(args.momentum);
  const Index count = countOf(args.parameter), step = lane.blocks() * lane.threads();
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += step) {
    T p = E::read(args.parameter, offsetIn(args.parameter, args.parameter.rank, i));
    T g = E::read(args.gradient, offsetIn(args.gradient, args.gradient.rank, i)) * clip;
    T state[2] = {};
    for (int s = 0; s < args.states; ++s)
      state[s] = E::read(args.state[s], offsetIn(args.state[s], args.state[s].rank, i));
    if (sgd) {
      g += decay * p;
      if (args.states != 0) {
        state[0] = first ? g : momentum * state[0] + static_cast<T>(1 - args.dampening) * g;
        g = args.nesterov ? g + momentum * state[0] : state[0];
      }
      p -= size * g;
    } else {
      if (decoupled)
        p *= keep;
      else
        g += decay * p;
      state[0] += (g - state[0]) * static_cast<T>(1 - args.beta1);
      state[1] = state[1] * static_cast<T>(args.beta2) + g * g * static_cast<T>(1 - args.beta2);
      p -= size * state[0] / (rootOf(state[1]) / rootCorrection + epsilon);
    }
    E::write(args.newParameter, offsetIn(args.newParameter, args.newParameter.rank, i), p);
    for (int s = 0; s < args.states; ++s)
      E::write(args.newState[s], offsetIn(args.newState[s], args.newState[s].rank, i), state[s]);
  }
}

} // namespace sluice::cuda

#define SLUICE_OPTIMIZER_KERNELS(X) SLUICE_POLICIES(X, optimizer, OptimizerArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_OPTIMIZER_H
