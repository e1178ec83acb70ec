//===- Optimizer.h - optimizer updates -----------------------------------------------------------===//
//
// torch's definitions. Where the guard is 0 nothing is written. Rate, step, clip coefficient and guard are read from
// memory, so that a captured step replays unchanged.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_OPTIMIZER_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_OPTIMIZER_H

#include "runtime/base/cuda/Vector.h"
#include "runtime/kernel/catalogue/Choices.h"

namespace sluice::cuda {

/// The attributes of an update, and the scalars that it reads.
struct UpdateNumbers {
  View rate, step, clip, guard;
  int kind = 0, states = 0, nesterov = 0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, decay = 0, momentum = 0, dampening = 0;
};

/// Coefficients of a step, equal for all elements.
template <typename T> struct UpdateStep {
  bool sgd, decoupled, nesterov;
  int states;
  T clip, decay, rootCorrection, size, keep, epsilon, momentum, gain, gain1, beta2, gain2;

  SLUICE_DEVICE explicit UpdateStep(const UpdateNumbers &args) {
    const double number = static_cast<double>(static_cast<const Index *>(args.step.data)[0]),
                 rate = readAny(args.rate, 0);
    sgd = args.kind == static_cast<int>(kernel::OptimizerKind::sgd);
    decoupled = args.kind == static_cast<int>(kernel::OptimizerKind::adamw);
    nesterov = args.nesterov != 0;
    states = args.states;
    clip = static_cast<T>(readAny(args.clip, 0));
    decay = static_cast<T>(args.decay);
    rootCorrection = sgd ? T(1) : static_cast<T>(sqrt(1 - pow(args.beta2, number)));
    size = static_cast<T>(sgd ? rate : rate / (1 - pow(args.beta1, number)));
    keep = static_cast<T>(1 - rate * args.decay);
    epsilon = static_cast<T>(args.epsilon);
    momentum = static_cast<T>(args.momentum);
    gain = static_cast<T>(number <= 1 ? 1 : 1 - args.dampening);
    gain1 = static_cast<T>(1 - args.beta1);
    beta2 = static_cast<T>(args.beta2);
    gain2 = static_cast<T>(1 - args.beta2);
  }

  /// Parameter `p` and its states by gradient `g`.
  SLUICE_DEVICE void update(T &p, T g, T *state) const {
    g *= clip;
    if (sgd) {
      g += decay * p;
      if (states != 0) {
        state[0] = momentum * state[0] + gain * g;
        g = nesterov ? g + momentum * state[0] : state[0];
      }
      p -= size * g;
      return;
    }
    if (decoupled)
      p *= keep;
    else
      g += decay * p;
    state[0] += (g - state[0]) * gain1;
    state[1] = state[1] * beta2 + g * g * gain2;
    p -= size * state[0] / (rootOf(state[1]) / rootCorrection + epsilon);
  }
};

/// The step of all threads of a block, computed by one of them: powers in f64 take longer than an element.
template <typename T> SLUICE_DEVICE UpdateStep<T> stepOfBlock(const UpdateNumbers &args, Lane lane) {
  static_assert(sizeof(UpdateStep<T>) <= reduceBytes);
  auto *shared = lane.shared<UpdateStep<T>>();
  if (lane.thread() == 0)
    *shared = UpdateStep<T>(args);
  lane.sync();
  return *shared;
}

SLUICE_DEVICE bool isGuarded(const UpdateNumbers &args) {
  return static_cast<const unsigned char *>(args.guard.data)[0] != 0;
}

/// One parameter with any strides.
struct OptimizerArgs {
  UpdateNumbers numbers;
  View parameter, gradient, state[2], newParameter, newState[2];
};

template <typename E> SLUICE_DEVICE void optimizer(const OptimizerArgs &args, Lane lane) {
  using T = typename E::Real;
  if (!isGuarded(args.numbers))
    return;
  const UpdateStep<T> step = stepOfBlock<T>(args.numbers, lane);
  const Index count = countOf(args.parameter), stride = lane.blocks() * lane.threads();
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += stride) {
    T p = E::read(args.parameter, offsetIn(args.parameter, args.parameter.rank, i));
    const T g = E::read(args.gradient, offsetIn(args.gradient, args.gradient.rank, i));
    T state[2] = {};
    for (int s = 0; s < step.states; ++s)
      state[s] = E::read(args.state[s], offsetIn(args.state[s], args.state[s].rank, i));
    step.update(p, g, state);
    E::write(args.newParameter, offsetIn(args.newParameter, args.newParameter.rank, i), p);
    for (int s = 0; s < step.states; ++s)
      E::write(args.newState[s], offsetIn(args.newState[s], args.newState[s].rank, i), state[s]);
  }
}

/// One launch updates many dense parameters of the same types, as many as fit the 4 KB of a launch's arguments. Each
/// parameter has separate blocks, of `span` elements each.
inline constexpr int listedParameters = 40;
struct ListedParameter {
  void *parameter = nullptr, *state[2] = {}, *newParameter = nullptr, *newState[2] = {};
  const void *gradient = nullptr;
  Index count = 0;
  int firstBlock = 0;
};
struct OptimizerListArgs {
  UpdateNumbers numbers;
  ListedParameter parameters[listedParameters];
  int count = 0, parameterType = typeF32, gradientType = typeF32, stateType[2] = {typeF32, typeF32};
  Index span = 0;
};
static_assert(sizeof(OptimizerListArgs) <= 4096);

/// A dense tensor, of which kernels read only memory and type.
SLUICE_DEVICE View denseView(void *data, int type) {
  View view;
  view.data = data;
  view.type = type;
  return view;
}

/// Updates the elements from `begin` on (a multiple of a vector) that fill vectors before `end`; none if an address is
/// not aligned. Returns the first element that is not updated.
SLUICE_DEVICE Index updateVectors(const ListedParameter &listed, const UpdateStep<float> &step, Index begin, Index end,
                                  Lane lane) {
  constexpr int n = vectorWidth<StoredF32>;
  bool aligned =
      isVectorAligned(listed.parameter) && isVectorAligned(listed.newParameter) && isVectorAligned(listed.gradient);
  for (int s = 0; s < step.states; ++s)
    aligned = aligned && isVectorAligned(listed.state[s]) && isVectorAligned(listed.newState[s]);
  // Vectors are numbered from the first element of the block.
  const auto vectors = aligned ? static_cast<unsigned>(end - begin) / n : 0;
  const auto at = [begin](auto *data) {
    return static_cast<float *>(const_cast<void *>(static_cast<const void *>(data))) + begin;
  };
  for (unsigned v = static_cast<unsigned>(lane.thread()); v < vectors; v += static_cast<unsigned>(lane.threads())) {
    float p[n], g[n], state[2][n] = {};
    loadVector<StoredF32>(at(listed.parameter), v, p);
    loadVector<StoredF32>(at(listed.gradient), v, g);
    for (int s = 0; s < 2; ++s)
      if (s < step.states)
        loadVector<StoredF32>(at(listed.state[s]), v, state[s]);
    for (int k = 0; k < n; ++k) {
      float own[2] = {state[0][k], state[1][k]};
      step.update(p[k], g[k], own);
      state[0][k] = own[0];
      state[1][k] = own[1];
    }
    storeVector<StoredF32>(at(listed.newParameter), v, p);
    for (int s = 0; s < 2; ++s)
      if (s < step.states)
        storeVector<StoredF32>(at(listed.newState[s]), v, state[s]);
  }
  return begin + Index(vectors) * n;
}

template <typename E> SLUICE_DEVICE void optimizerOfList(const OptimizerListArgs &args, Lane lane) {
  using T = typename E::Real;
  if (!isGuarded(args.numbers))
    return;
  const UpdateStep<T> step = stepOfBlock<T>(args.numbers, lane);
  const int block = static_cast<int>(lane.block());
  int at = 0;
  while (at + 1 < args.count && args.parameters[at + 1].firstBlock <= block)
    ++at;
  const ListedParameter &listed = args.parameters[at];
  const View parameter = denseView(listed.parameter, args.parameterType),
             newParameter = denseView(listed.newParameter, args.parameterType);
  const View gradient = denseView(const_cast<void *>(listed.gradient), args.gradientType);
  const Index begin = Index(block - listed.firstBlock) * args.span;
  const Index end = begin + args.span < listed.count ? begin + args.span : listed.count;
  Index done = begin;
  if constexpr (__is_same(E, F32))
    done = updateVectors(listed, step, begin, end, lane);
  for (Index i = done + lane.thread(); i < end; i += lane.threads()) {
    T p = E::read(parameter, i), state[2] = {};
    const T g = E::read(gradient, i);
    for (int s = 0; s < step.states; ++s)
      state[s] = E::read(denseView(listed.state[s], args.stateType[s]), i);
    step.update(p, g, state);
    E::write(newParameter, i, p);
    for (int s = 0; s < step.states; ++s)
      E::write(denseView(listed.newState[s], args.stateType[s]), i, state[s]);
  }
}

} // namespace sluice::cuda

#define SLUICE_OPTIMIZER_KERNELS(X)                                                                                    \
  SLUICE_POLICIES(X, optimizer, OptimizerArgs)                                                                         \
  SLUICE_POLICIES(X, optimizerOfList, OptimizerListArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_OPTIMIZER_H
