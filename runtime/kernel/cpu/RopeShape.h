//===- RopeShape.h - the operands and angles of rope ---------------------------===//
//
// x and y [B, T, H, D]. Elements i and i + D/2 of a head rotate together by (position + t) f(i); docs/spec/model.md
// defines f for each scaling.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_ROPESHAPE_H
#define SLUICE_RUNTIME_KERNEL_CPU_ROPESHAPE_H

#include "runtime/kernel/cpu/Bound.h"

#include <vector>

namespace sluice::cpu {

struct RopeShape {
  std::int64_t batch = 0, rows = 0, heads = 0, size = 0, position = 0;
  bool inverse = false;
  /// The input 1 is `documents`: positions of a token are those after the first token of its document.
  bool packed = false;
  /// f(i), of D/2 elements.
  std::vector<double> frequencies;

  static Result<RopeShape> of(const KernelRequest &request);
  /// The position of token t of a row.
  std::int64_t positionOf(const Call &call, std::int64_t b, std::int64_t t) const {
    if (!packed)
      return position + t;
    const Operand &documents = call.inputs[1];
    return position + t -
           loadInteger(documents.data, documents.dtype, b * documents.strides[0] + t * documents.strides[1]);
  }
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_ROPESHAPE_H
