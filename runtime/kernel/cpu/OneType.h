//===- OneType.h - kernels whose operands share one type -----------------------===//
//
// For loops over one element type, on operands of that type with contiguous rows; the reference computes other
// operands.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_ONETYPE_H
#define SLUICE_RUNTIME_KERNEL_CPU_ONETYPE_H

#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <utility>

namespace sluice::cpu {

/// Calls `prepare` with the common element type.
template <typename Prepare> Bound ofOneType(const KernelRequest &request, Prepare prepare) {
  const DType type = request.outputs[0].dtype;
  if (!hasLoops(type) || !allContiguousRows(request) || !haveType(type, request.inputs) ||
      !haveType(type, request.outputs))
    return useReference();
  return withLoops(type, prepare);
}

/// A kernel that calls `loop(loops of the type, inputs..., outputs..., count)` for contiguous stretches of its N
/// operands, which have equal extents.
template <std::size_t N, typename Loop> Bound byStretches(const KernelRequest &request, Loop loop) {
  return ofOneType(request, [&]<typename T>() {
    return makeKernel(request, [&l = loops().of<T>(), loop](Call &call) {
      std::array<const Operand *, N> operands;
      std::size_t next = 0;
      for (const auto *list : {&call.inputs, &call.outputs})
        for (const Operand &operand : *list)
          operands[next++] = &operand;
      forStretches<N>(call.threads, operands, [&](auto &at, std::int64_t count) {
        [&]<std::size_t... n>(std::index_sequence<n...>) {
          loop(l, (operands[n]->template as<T>() + at[n])..., count);
        }(std::make_index_sequence<N>());
      });
      return Status::ok();
    });
  });
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_ONETYPE_H
