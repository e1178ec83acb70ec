//===- WriteResult.h - results that may be added to a sum ----------------------------------------------===//
//
// A result that is added is rounded to the element's type, f32 or f64, before: the bits are those of a separate launch
// that adds.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_WRITERESULT_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_WRITERESULT_H

#include "runtime/base/cuda/Element.h"

namespace sluice::cuda {

SLUICE_DEVICE void writeResult(const View &view, Index at, float value, bool adds) {
#ifdef __CUDA_ARCH__
  // Not one operation with a product that the value is.
  Mixed::write(view, at, adds ? __fadd_rn(Mixed::read(view, at), value) : value);
#else
  Mixed::write(view, at, adds ? Mixed::read(view, at) + value : value);
#endif
}
SLUICE_DEVICE void writeResult(const View &view, Index at, double value, bool adds) {
  if (adds && view.type == typeF32)
    writeResult(view, at, static_cast<float>(value), true);
  else
    writeAny(view, at, adds ? readAny(view, at) + value : value);
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_WRITERESULT_H
