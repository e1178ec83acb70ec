//===- Silu.cpp - silu and swiglu by stretches --------------------------------===//
#include "runtime/kernel/cpu/FastKernels.h"
#include "runtime/kernel/cpu/OneType.h"
#include "runtime/kernel/cpu/reference/References.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {
namespace {

struct Silu {
  static constexpr PrepareFunction plain = reference::silu;
  template <typename T> static Bound of(const KernelRequest &request) {
    return makeKernel(request, [&l = loops().of<T>()](Call &call) {
      const Operand &x = call.inputs[0], &y = call.outputs[0];
      forStretches<2>(call.threads, {&x, &y},
                      [&](auto &at, std::int64_t count) { l.silu(x.as<T>() + at[0], y.as<T>() + at[1], count); });
      return Status::ok();
    });
  }
};

struct SiluGrad {
  static constexpr PrepareFunction plain = reference::silu_grad;
  template <typename T> static Bound of(const KernelRequest &request) {
    return makeKernel(request, [&l = loops().of<T>()](Call &call) {
      const Operand &dy = call.inputs[0], &x = call.inputs[1], &dx = call.outputs[0];
      forStretches<3>(call.threads, {&dy, &x, &dx}, [&](auto &at, std::int64_t count) {
        l.siluGrad(dy.as<T>() + at[0], x.as<T>() + at[1], dx.as<T>() + at[2], count);
      });
      return Status::ok();
    });
  }
};

struct Swiglu {
  static constexpr PrepareFunction plain = reference::swiglu;
  template <typename T> static Bound of(const KernelRequest &request) {
    return makeKernel(request, [&l = loops().of<T>()](Call &call) {
      const Operand &gate = call.inputs[0], &up = call.inputs[1], &y = call.outputs[0];
      forStretches<3>(call.threads, {&gate, &up, &y}, [&](auto &at, std::int64_t count) {
        l.swiglu(gate.as<T>() + at[0], up.as<T>() + at[1], y.as<T>() + at[2], count);
      });
      return Status::ok();
    });
  }
};

struct SwigluGrad {
  static constexpr PrepareFunction plain = reference::swiglu_grad;
  template <typename T> static Bound of(const KernelRequest &request) {
    return makeKernel(request, [&l = loops().of<T>()](Call &call) {
      const Operand &dy = call.inputs[0], &gate = call.inputs[1], &up = call.inputs[2];
      const Operand &dgate = call.outputs[0], &dup = call.outputs[1];
      forStretches<5>(call.threads, {&dy, &gate, &up, &dgate, &dup}, [&](auto &at, std::int64_t count) {
        l.swigluGrad(dy.as<T>() + at[0], gate.as<T>() + at[1], up.as<T>() + at[2], dgate.as<T>() + at[3],
                     dup.as<T>() + at[4], count);
      });
      return Status::ok();
    });
  }
};

} // namespace

Bound fast::silu(const KernelRequest &request) { return ofOneType<Silu>(request); }
Bound fast::silu_grad(const KernelRequest &request) { return ofOneType<SiluGrad>(request); }
Bound fast::swiglu(const KernelRequest &request) { return ofOneType<Swiglu>(request); }
Bound fast::swiglu_grad(const KernelRequest &request) { return ofOneType<SwigluGrad>(request); }

} // namespace sluice::cpu
