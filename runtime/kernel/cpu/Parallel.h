//===- Parallel.h - sharing work among the threads of a launch ----------------===//
//
// Work is cut in chunks whose bounds do not depend on the number of threads, and each chunk writes its own outputs: the
// bits are the same for any number.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_PARALLEL_H
#define SLUICE_RUNTIME_KERNEL_CPU_PARALLEL_H

#include "runtime/kernel/cpu/Bound.h"

#include <algorithm>

namespace sluice::cpu {

/// body(i) for i in [0, count).
template <typename Body> void forEach(int threads, std::int64_t count, Body body) {
  if (threads <= 1 || count <= 1) {
    for (std::int64_t i = 0; i < count; ++i)
      body(i);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < count; ++i)
    body(i);
}

inline constexpr std::int64_t stretch = 16384;

/// body(offsets, count) for the contiguous stretches of operands of equal extents with contiguous rows: chunks of
/// `stretch` elements where all are dense, else rows.
template <std::size_t N, typename Body>
void forStretches(int threads, const std::array<const Operand *, N> &operands, Body body) {
  bool dense = true;
  for (const Operand *operand : operands)
    dense = dense && operand->isDense();
  std::int64_t elements = operands[0]->elements();
  if (elements == 0)
    return;
  if (dense) {
    forEach(threads, (elements + stretch - 1) / stretch, [&](std::int64_t chunk) {
      std::array<std::int64_t, N> offsets;
      offsets.fill(chunk * stretch);
      body(offsets, std::min(stretch, elements - chunk * stretch));
    });
    return;
  }
  Rows first(*operands[0]);
  forEach(threads, first.rows, [&](std::int64_t row) {
    std::array<std::int64_t, N> offsets;
    for (std::size_t n = 0; n < N; ++n)
      offsets[n] = Rows(*operands[n]).offset(row);
    body(offsets, first.columns);
  });
}

/// `x` seen over the dims of `frame`: repeated dims have stride 0.
inline Operand spread(const Operand &x, const Operand &frame) {
  Operand seen = frame;
  seen.data = x.data;
  seen.dtype = x.dtype;
  seen.strides = broadcastStrides(x, frame);
  return seen;
}
/// True where x repeats along the rows of `frame` or its elements are neighbours there.
inline bool stepsBy01(const Operand &x, const Operand &frame) {
  return frame.rank == 0 || frame.extent[frame.rank - 1] <= 1 || broadcastStrides(x, frame)[frame.rank - 1] <= 1;
}

/// True where all operands have contiguous rows.
inline bool allContiguousRows(const KernelRequest &request) {
  return std::ranges::all_of(request.inputs, contiguousRows) && std::ranges::all_of(request.outputs, contiguousRows);
}

/// True where the operands have the type.
inline bool haveType(DType dtype, std::span<const Operand> operands) {
  return std::ranges::all_of(operands, [dtype](const Operand &operand) { return operand.dtype == dtype; });
}
template <typename... Operands> bool allOf(DType dtype, const Operands &...operands) {
  return ((operands.dtype == dtype) && ...);
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_PARALLEL_H
