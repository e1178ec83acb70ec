//===- Rope.cpp - rotary position embedding, a position's heads at once --------===//
//
// A token's cosines and sines are computed once and used by every head, and by every batch row unless rows are packed.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/RopeShape.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {
namespace {

/// Limit of D, so that a position's cosines and sines fit on the stack.
constexpr std::int64_t maxSize = 1024;

template <typename T> Bound ropeOf(const KernelRequest &request, RopeShape shape) {
  return makeKernel(request, [&l = loops(), s = std::move(shape)](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    std::int64_t half = s.size / 2;
    const std::int64_t groups = s.packed ? s.batch : 1, together = s.packed ? 1 : s.batch;
    forEach(call.threads, groups * s.rows, [&](std::int64_t item) {
      const std::int64_t first = item / s.rows, t = item % s.rows;
      float cosines[maxSize / 2], sines[maxSize / 2];
      l.rotations(s.frequencies.data(), static_cast<double>(s.positionOf(call, first, t)), s.inverse ? -1.f : 1.f,
                  cosines, sines, half);
      for (std::int64_t b = first; b < first + together; ++b)
        for (std::int64_t h = 0; h < s.heads; ++h)
          l.of<T>().rotateRow(x.as<T>() + b * x.strides[0] + t * x.strides[1] + h * x.strides[2],
                              y.as<T>() + b * y.strides[0] + t * y.strides[1] + h * y.strides[2], cosines, sines, half);
    });
    return Status::ok();
  });
}

} // namespace

Bound fast::rope(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(RopeShape shape, RopeShape::of(request));
  DType type = request.inputs[0].dtype;
  if (!contiguousRows(request.inputs[0]) || !contiguousRows(request.outputs[0]) || shape.size > maxSize ||
      !hasLoops(type) || request.outputs[0].dtype != type)
    return useReference();
  return withLoops(type, [&]<typename T>() { return ropeOf<T>(request, std::move(shape)); });
}

} // namespace sluice::cpu
