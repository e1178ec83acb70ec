//===- Gelu.cpp - gelu by stretches -------------------------------------------===//
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/cpu/FastKernels.h"
#include "runtime/kernel/cpu/OneType.h"
#include "runtime/kernel/cpu/reference/References.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {
namespace {

struct Gelu {
  static constexpr PrepareFunction plain = reference::gelu;
  template <typename T> static Bound of(const KernelRequest &request) {
    bool tanhForm = request.attributes->choice<kernel::GeluForm>("approximate") == kernel::GeluForm::tanh;
    return makeKernel(request, [&l = loops().of<T>(), tanhForm](Call &call) {
      const Operand &x = call.inputs[0], &y = call.outputs[0];
      forStretches<2>(call.threads, {&x, &y}, [&](auto &at, std::int64_t count) {
        l.gelu(x.as<T>() + at[0], y.as<T>() + at[1], count, tanhForm);
      });
      return Status::ok();
    });
  }
};

struct GeluGrad {
  static constexpr PrepareFunction plain = reference::gelu_grad;
  template <typename T> static Bound of(const KernelRequest &request) {
    bool tanhForm = request.attributes->choice<kernel::GeluForm>("approximate") == kernel::GeluForm::tanh;
    return makeKernel(request, [&l = loops().of<T>(), tanhForm](Call &call) {
      const Operand &dy = call.inputs[0], &x = call.inputs[1], &dx = call.outputs[0];
      forStretches<3>(call.threads, {&dy, &x, &dx}, [&](auto &at, std::int64_t count) {
        l.geluGrad(dy.as<T>() + at[0], x.as<T>() + at[1], dx.as<T>() + at[2], count, tanhForm);
      });
      return Status::ok();
    });
  }
};

} // namespace

Bound fast::gelu(const KernelRequest &request) { return ofOneType<Gelu>(request); }
Bound fast::gelu_grad(const KernelRequest &request) { return ofOneType<GeluGrad>(request); }

} // namespace sluice::cpu
