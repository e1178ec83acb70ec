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
  /// f(i), of D/2 elements.
  std::vector<double> frequencies;

  static Result<RopeShape> of(const KernelRequest &request);
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_ROPESHAPE_H
