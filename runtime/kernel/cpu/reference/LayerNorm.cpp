//===- LayerNorm.cpp - the norm by mean and deviation --------------------------===//
#include "runtime/kernel/cpu/reference/Norms.h"

namespace sluice::cpu::reference {

Bound layer_norm(const KernelRequest &request) { return norm<true>(request); }
Bound layer_norm_grad(const KernelRequest &request) { return normGrad<true>(request); }

} // namespace sluice::cpu::reference
