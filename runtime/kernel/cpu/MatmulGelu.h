//===- MatmulGelu.h - a product and the gelu behind it as two kernels ---------===//
//
// The catalogue's product and its gelu, or gelu_grad, one behind the other: the bits are theirs, whatever they are made of.
// The product's result is the first output of either; the derivative is taken in place.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_MATMULGELU_H
#define SLUICE_RUNTIME_KERNEL_CPU_MATMULGELU_H

#include "runtime/kernel/cpu/Bound.h"

namespace sluice::cpu {

/// a, b, [bias] -> product, gelu of it, in the tanh form; both kernels of `flavour`.
Bound matmulGelu(const KernelRequest &request, KernelFlavour flavour);
/// a, b, x -> product times the slope of gelu at x.
Bound matmulGeluGrad(const KernelRequest &request, KernelFlavour flavour);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_MATMULGELU_H
