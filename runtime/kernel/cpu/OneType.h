//===- OneType.h - kernels whose operands share one type -----------------------===//
//
// The frame of a family of loops over f32 or bf16: a kernel says its plain form and, by element type, its fast one.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_ONETYPE_H
#define SLUICE_RUNTIME_KERNEL_CPU_ONETYPE_H

#include "runtime/kernel/cpu/Parallel.h"

namespace sluice::cpu {

/// Kernel::of<T> where all operands are f32 or all bf16, in contiguous rows; Kernel::plain checks the request and
/// serves elsewhere.
template <typename Kernel> Bound ofOneType(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto plain, Kernel::plain(request));
  if (!allContiguousRows(request))
    return plain;
  auto all = [&](DType dtype) {
    for (auto operands : {request.inputs, request.outputs})
      for (const Operand &operand : operands)
        if (operand.dtype != dtype)
          return false;
    return true;
  };
  if (all(DType::f32))
    return Kernel::template of<float>(request);
  if (all(DType::bf16))
    return Kernel::template of<Bf16>(request);
  return plain;
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_ONETYPE_H
