//===- MatmulGelu.cpp - a product followed by gelu or its derivative ---------------===//
//
//   x = op(a) op(b) (+ bias),   y = gelu(x) in the tanh form
//   dx = (op(a) op(b)) gelu'(x)
//
// The product is rounded to its type before gelu, or the slope, is taken of it.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/MatmulGelu.h"
#include "runtime/kernel/cpu/CpuKernels.h"

namespace sluice::cpu::reference {

Bound matmul_gelu(const KernelRequest &request) { return matmulGelu(request, KernelFlavour::reference, false); }
Bound matmul_gelu_grad(const KernelRequest &request) { return matmulGelu(request, KernelFlavour::reference, true); }

} // namespace sluice::cpu::reference
