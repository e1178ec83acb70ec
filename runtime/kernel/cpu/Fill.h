//===- Fill.h - one value over a window, one window into another --------------===//
//
// What kernels that make a tensor out of pieces are put together from. A target whose rows lie contiguous is written by
// stretches, any other element by element with the type's size known.
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
