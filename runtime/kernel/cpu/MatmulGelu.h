//===- MatmulGelu.h - a product followed by gelu, as two kernels -------------------===//
//
// The catalogue's product followed by its gelu or gelu_grad: the bits equal those of the two kernels, whatever their
// implementations. The product's result is the first output of either; the derivative is computed in place.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_MATMULGELU_H
#define SLUICE_RUNTIME_KERNEL_CPU_MATMULGELU_H

#include "runtime/kernel/cpu/Bound.h"

namespace sluice::cpu {

/// a, b, [bias] -> product, gelu of it; with `isGrad` a, b, x -> product times the slope of gelu at x. In the tanh
/// form, by two kernels of `flavour`.
Bound matmulGelu(const KernelRequest &request, KernelFlavour flavour, bool isGrad);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_MATMULGELU_H
