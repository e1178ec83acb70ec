//===- Gelu.cpp - gelu by stretches -------------------------------------------===//
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/OneType.h"

namespace sluice::cpu {

static bool isTanhForm(const KernelRequest &request) {
  return request.attributes->choice<kernel::GeluForm>("approximate") == kernel::GeluForm::tanh;
}

Bound fast::gelu(const KernelRequest &request) {
  return byStretches<2>(request, [tanhForm = isTanhForm(request)](auto &l, auto *x, auto *y, std::int64_t count) {
    l.gelu(x, y, count, tanhForm);
  });
}
Bound fast::gelu_grad(const KernelRequest &request) {
  return byStretches<3>(request,
                        [tanhForm = isTanhForm(request)](auto &l, auto *dy, auto *x, auto *dx, std::int64_t count) {
                          l.geluGrad(dy, x, dx, count, tanhForm);
                        });
}

} // namespace sluice::cpu
