//===- LinearLossShape.h - the operands of a loss with its projection, resolved -----===//
//
//   logits[n, v] = sum over c of x[n, c] weight[v, c]
//
// The leading dims of all operands are flattened to rows n; only `chunk` rows of logits exist at a time.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_LINEARLOSSSHAPE_H
#define SLUICE_RUNTIME_KERNEL_CPU_LINEARLOSSSHAPE_H

#include "runtime/kernel/cpu/CrossEntropyShape.h"

namespace sluice::cpu {

struct LinearLossShape {
  std::int64_t rows = 0, columns = 0, classes = 0, chunk = 1;
  /// Reduction, ignored class, smoothing; how targets are read.
  CrossEntropyShape loss;

  static Result<LinearLossShape> of(const KernelRequest &request, const Operand &x, const Operand &weight,
                                    const Operand &targets, const Operand &lse, const Operand &loss);
};

/// Operands of the forward and of the gradient by role.
struct LinearLossOperands {
  const Operand &x, &weight, &targets, &lse, &loss;
  static LinearLossOperands ofForward(std::span<const Operand> in, std::span<const Operand> out) {
    return {in[0], in[1], in[2], out[1], out[0]};
  }
  static LinearLossOperands ofGradient(std::span<const Operand> in) { return {in[1], in[2], in[3], in[4], in[0]}; }
};

/// A matrix without an address.
Operand matrixOf(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t rowStride,
                 std::int64_t columnStride = 1);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_LINEARLOSSSHAPE_H
