//===- ProductParts.h - a product as two, of which the large one is aligned --------------------------------------===//
//
// cuBLASLt's fast kernels for bf16 and f16 need an extent of a multiple of 16 bytes along the dense dim of each matrix,
// also where the rows begin at such multiples: with 50,257 classes in rows of 50,304 elements, the products of GPT-2's
// logits were 1.4 to 8 times slower than with 50,256 (cuBLASLt 13.1, H200). Such a product is computed in two parts,
// the multiple and the remainder of at most 7 elements.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_PRODUCTPARTS_H
#define SLUICE_RUNTIME_KERNEL_CUDA_PRODUCTPARTS_H

#include "runtime/kernel/cuda/Prepare.h"

namespace sluice::cuda {

/// The request of `matmul` in two parts; null if no part would be aligned where the whole is not. A sum over k adds the
/// remainder first, rounded to the type of the result, and the rest to it.
Bound productInParts(const KernelRequest &request);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_PRODUCTPARTS_H
