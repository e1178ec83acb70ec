//===- Fill.h - one value over a window, one window into another --------------===//
//
// Common code of kernels that copy parts of tensors. A target with contiguous rows is written by runs, others element
// by element with a constant element size.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_FILL_H
#define SLUICE_RUNTIME_KERNEL_CPU_FILL_H

#include "runtime/kernel/cpu/Bound.h"

namespace sluice::cpu {

/// Every element of y becomes `value`, of y's type. The rows of y are contiguous.
void fillRows(const Operand &y, double value, int threads);

/// Copies x to y, of one type and equal extents or x repeating over y's.
void copyWindow(const Operand &x, const Operand &y, int threads);

/// A window of y from element `offset` on, with other extents.
inline Operand windowOf(const Operand &y, std::int64_t offset, const Dims &extent) {
  Operand window = y;
  window.data = y.as<char>() + offset * static_cast<std::int64_t>(dtypeBytes(y.dtype));
  window.extent = extent;
  return window;
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_FILL_H
