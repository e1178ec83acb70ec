//===- Elementwise.h - one output element of the same element of each input -----------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_REFERENCE_ELEMENTWISE_H
#define SLUICE_RUNTIME_KERNEL_CPU_REFERENCE_ELEMENTWISE_H

#include "runtime/kernel/cpu/CpuKernels.h"

#include <utility>

namespace sluice::cpu::reference {

/// y = op(N inputs), with operands of equal extents.
template <std::size_t N, typename Op> Bound elementwise(const KernelRequest &request, Op op) {
  return makeKernel(request, [op](Call &call) {
    const Operand &y = call.outputs[0];
    std::array<Dims, N + 1> strides;
    for (std::size_t n = 0; n < N; ++n)
      strides[n] = call.inputs[n].strides;
    strides[N] = y.strides;
    walk(y.rank, y.extent, strides, [&](auto &at) {
      [&]<std::size_t... n>(std::index_sequence<n...>) {
        store(y, at[N], op(load(call.inputs[n], at[n])...));
      }(std::make_index_sequence<N>());
    });
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference

#endif // SLUICE_RUNTIME_KERNEL_CPU_REFERENCE_ELEMENTWISE_H
