//===- OneType.h - kernels whose operands share one type -----------------------===//
//
// The frame of a family of loops over one element type: a kernel says its plain form and, by element type, its fast
// one.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_ONETYPE_H
#define SLUICE_RUNTIME_KERNEL_CPU_ONETYPE_H

#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {

/// Kernel::of<T> where all operands are of one type that has loops, in contiguous rows; Kernel::plain checks the
/// request and serves elsewhere.
template <typename Kernel> Bound ofOneType(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto plain, Kernel::plain(request));
  if (!allContiguousRows(request))
    return plain;
  DType type = request.outputs[0].dtype;
  for (auto operands : {request.inputs, request.outputs})
    for (const Operand &operand : operands)
      if (operand.dtype != type)
        return plain;
  if (!hasLoops(type))
    return plain;
  return withLoops(type, [&]<typename T>() { return Kernel::template of<T>(request); });
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_ONETYPE_H
