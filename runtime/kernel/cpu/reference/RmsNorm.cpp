//===- RmsNorm.cpp - the norm by the root of the mean square -------------------===//
#include "runtime/kernel/cpu/reference/Norms.h"

namespace sluice::cpu::reference {

Bound rms_norm(const KernelRequest &request) { return norm<false>(request); }
Bound rms_norm_grad(const KernelRequest &request) { return normGrad<false>(request); }

} // namespace sluice::cpu::reference
