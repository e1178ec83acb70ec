//===- Silu.cpp - silu and swiglu by stretches --------------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/OneType.h"

namespace sluice::cpu {

Bound fast::silu(const KernelRequest &request) {
  return byStretches<2>(request, [](auto &l, auto *x, auto *y, std::int64_t count) { l.silu(x, y, count); });
}
Bound fast::silu_grad(const KernelRequest &request) {
  return byStretches<3>(request,
                        [](auto &l, auto *dy, auto *x, auto *dx, std::int64_t count) { l.siluGrad(dy, x, dx, count); });
}
Bound fast::swiglu(const KernelRequest &request) {
  return byStretches<3>(
      request, [](auto &l, auto *gate, auto *up, auto *y, std::int64_t count) { l.swiglu(gate, up, y, count); });
}
Bound fast::swiglu_grad(const KernelRequest &request) {
  return byStretches<5>(request, [](auto &l, auto *dy, auto *gate, auto *up, auto *dgate, auto *dup,
                                    std::int64_t count) { l.swigluGrad(dy, gate, up, dgate, dup, count); });
}

} // namespace sluice::cpu
