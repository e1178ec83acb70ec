//===- MatmulShape.h - the operands of a matrix product, resolved -------------===//
//
// c[b..., m, n] = op(a)[b..., m, k] op(b)[b..., k, n] (+ bias[n]) (+ residual[b..., m, n]). Batch dims broadcast: those
// of a and b may be 1 or missing. A transposed operand is stored with its last two dims exchanged.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_MATMULSHAPE_H
#define SLUICE_RUNTIME_KERNEL_CPU_MATMULSHAPE_H

#include "runtime/kernel/cpu/Bound.h"

namespace sluice::cpu {

struct MatmulShape {
  std::int64_t m = 0, n = 0, k = 0;
  /// Strides of a along m and k, of b along k and n, of c and the residual along m and n, of the bias along n.
  std::int64_t aM = 0, aK = 0, bK = 0, bN = 0, cM = 0, cN = 0, rM = 0, rN = 0, biasN = 0;
  int batchRank = 0;
  Dims batchExtent{}, aBatch{}, bBatch{}, cBatch{}, rBatch{};
  /// Index among the inputs; -1: absent.
  int bias = -1, residual = -1;

  std::int64_t batches() const {
    std::int64_t count = 1;
    for (int d = 0; d < batchRank; ++d)
      count *= batchExtent[d];
    return count;
  }

  static Result<MatmulShape> of(const KernelRequest &request);
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_MATMULSHAPE_H
