//===- Registry.h - the CPU kernels by family ---------------------------------===//
//
// Each family lists the kernels that have a fast form; every catalogue entry has a reference (reference/References.h),
// which also serves where there is no fast form. Nothing registers itself, so that a static link keeps all.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_REGISTRY_H
#define SLUICE_RUNTIME_KERNEL_CPU_REGISTRY_H

#include "runtime/kernel/cpu/Bound.h"

namespace sluice::cpu {

using FastKernels = std::span<const FastKernel>;

FastKernels pointwiseKernels();
FastKernels selectionKernels();
FastKernels creationKernels();
FastKernels movementKernels();
FastKernels reductionKernels();
FastKernels logSumExpKernels();
FastKernels convolutionKernels();
FastKernels poolingKernels();
FastKernels batchNormKernels();
FastKernels matmulKernels();
FastKernels matmulGeluKernels();
FastKernels softmaxKernels();
FastKernels geluKernels();
FastKernels siluKernels();
FastKernels layerNormKernels();
FastKernels rmsNormKernels();
FastKernels ropeKernels();
FastKernels attentionKernels();
FastKernels embeddingKernels();
FastKernels crossEntropyKernels();
FastKernels linearCrossEntropyKernels();
FastKernels dropoutKernels();
FastKernels stepKernels();
FastKernels optimizerKernels();

/// True where `name` has a fast form; a catalogue entry without one runs by its reference whatever its operands.
bool hasFastForm(std::string_view name);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_REGISTRY_H
