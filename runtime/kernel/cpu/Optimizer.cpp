//===- Optimizer.cpp - optimizer updates in one pass over memory --------------===//
//
// Parameter and states in f32, the gradient in f32, bf16 or f16. Coefficients of the step are found in f64.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/OptimizerUpdate.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/Registry.h"
#include "runtime/kernel/cpu/reference/References.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <cstring>

namespace sluice::cpu {
namespace {

AdamStep adamStep(const OptimizerUpdate &u, const OptimizerUpdate::Step &step) {
  bool apart = u.kind == OptimizerKind::adamw;
  return {static_cast<float>(step.clip),
          apart ? static_cast<float>(1 - step.learningRate * u.weightDecay) : 1.f,
          static_cast<float>(1 - u.beta1),
          static_cast<float>(u.beta2),
          static_cast<float>(1 - u.beta2),
          static_cast<float>(1 / step.rootCorrection2),
          static_cast<float>(u.epsilon),
          static_cast<float>(step.learningRate / step.correction1),
          apart ? 0.f : static_cast<float>(u.weightDecay)};
}

SgdStep sgdStep(const OptimizerUpdate &u, const OptimizerUpdate::Step &step) {
  return {static_cast<float>(step.clip),
          static_cast<float>(u.weightDecay),
          static_cast<float>(u.momentum),
          static_cast<float>(1 - u.dampening),
          static_cast<float>(step.learningRate),
          step.first,
          u.nesterov};
}

template <typename G> Bound optimizerOf(const KernelRequest &request, const OptimizerUpdate &update) {
  return makeKernel(request, [&l = loops().of<G>(), u = update](Call &call) {
    if (!u.guarded(call))
      return Status::ok();
    OptimizerUpdate::Step step = u.step(call);
    // Absent states repeat the parameter: their pointers are not used.
    const Operand &p = call.inputs[0], &g = call.inputs[1];
    const Operand &m = u.states > 0 ? call.inputs[2] : p, &v = u.states > 1 ? call.inputs[3] : p;
    const Operand &newP = call.outputs[0];
    const Operand &newM = u.states > 0 ? call.outputs[1] : newP, &newV = u.states > 1 ? call.outputs[2] : newP;
    AdamStep adam = adamStep(u, step);
    SgdStep sgd = sgdStep(u, step);
    forStretches<7>(call.threads, {&p, &g, &m, &v, &newP, &newM, &newV}, [&](auto &at, std::int64_t count) {
      const G *gradient = g.as<G>() + at[1];
      float *parameter = newP.as<float>() + at[4], *first = newM.as<float>() + at[5];
      float *second = newV.as<float>() + at[6];
      // Outputs normally are the inputs' memory.
      if (parameter != p.as<float>() + at[0])
        std::memcpy(parameter, p.as<float>() + at[0], count * sizeof(float));
      if (u.states > 0 && first != m.as<float>() + at[2])
        std::memcpy(first, m.as<float>() + at[2], count * sizeof(float));
      if (u.states > 1 && second != v.as<float>() + at[3])
        std::memcpy(second, v.as<float>() + at[3], count * sizeof(float));
      if (u.kind == OptimizerKind::sgd)
        l.sgd(sgd, parameter, gradient, u.states ? first : nullptr, count);
      else
        l.adam(adam, parameter, gradient, first, second, count);
    });
    return Status::ok();
  });
}

Bound optimizer(std::string_view name, OptimizerKind kind, PrepareFunction plain, const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(OptimizerUpdate update, OptimizerUpdate::of(name, kind, request));
  bool fits = hasLoops(request.inputs[1].dtype);
  for (int i = 0; i < 2 + update.states; ++i)
    fits = fits && contiguousRows(request.inputs[i]) && (i == 1 || request.inputs[i].dtype == DType::f32);
  for (const Operand &output : request.outputs)
    fits = fits && contiguousRows(output);
  if (!fits)
    return plain(request);
  return withLoops(request.inputs[1].dtype, [&]<typename G>() { return optimizerOf<G>(request, update); });
}

Bound sgd(const KernelRequest &request) { return optimizer("sgd", OptimizerKind::sgd, reference::sgd, request); }
Bound adam(const KernelRequest &request) { return optimizer("adam", OptimizerKind::adam, reference::adam, request); }
Bound adamw(const KernelRequest &request) {
  return optimizer("adamw", OptimizerKind::adamw, reference::adamw, request);
}

} // namespace

FastKernels optimizerKernels() {
  static constexpr FastKernel kernels[] = {{"sgd", sgd}, {"adam", adam}, {"adamw", adamw}};
  return kernels;
}

} // namespace sluice::cpu
