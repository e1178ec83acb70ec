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

/// The kernels that compute the logits chunk by chunk.
enum class LinearLoss { forward, gradient, both };

/// Something of each operand, by role; T() where the kernel does not have the operand.
template <typename T> struct LinearLossRoles {
  T x, weight, targets, lse, loss, dloss, dx, dweight;

  /// `in` and `out` give that of an input or output by its index.
  template <typename In, typename Out> static LinearLossRoles of(LinearLoss kernel, In in, Out out) {
    switch (kernel) {
    case LinearLoss::forward:
      return {in(0), in(1), in(2), out(1), out(0), T(), T(), T()};
    case LinearLoss::gradient:
      return {in(1), in(2), in(3), in(4), T(), in(0), out(0), out(1)};
    case LinearLoss::both:
      return {in(0), in(1), in(2), out(1), out(0), in(3), out(2), out(3)};
    }
    __builtin_unreachable();
  }
};

using LinearLossOperands = LinearLossRoles<const Operand *>;
inline LinearLossOperands linearLossOperands(LinearLoss kernel, std::span<const Operand> in,
                                             std::span<const Operand> out) {
  return LinearLossOperands::of(kernel, [&](std::size_t i) { return &in[i]; }, [&](std::size_t i) { return &out[i]; });
}

struct LinearLossShape {
  std::int64_t rows = 0, columns = 0, classes = 0, chunk = 1;
  /// The output dweight holds a sum, to which each chunk is added.
  bool addsWeight = false;
  /// Reduction, ignored class, smoothing; how targets are read.
  CrossEntropyShape loss;

  static Result<LinearLossShape> of(const KernelRequest &request, const LinearLossOperands &operands);
};

/// A matrix without an address.
Operand matrixOf(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t rowStride,
                 std::int64_t columnStride = 1);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_LINEARLOSSSHAPE_H
