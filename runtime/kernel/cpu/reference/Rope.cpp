//===- Rope.cpp - rotary position embedding, pair by pair ----------------------===//
//
//   y[i] = x[i] cos a - x[i + D/2] sin a,   y[i + D/2] = x[i + D/2] cos a + x[i] sin a,   a = (position + t) f(i)
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/RopeShape.h"

#include <cmath>

namespace sluice::cpu::reference {

Bound rope(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(RopeShape shape, RopeShape::of(request));
  return makeKernel(request, [s = std::move(shape)](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    std::int64_t half = s.size / 2;
    auto at = [](const Operand &o, std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t d) {
      return b * o.strides[0] + t * o.strides[1] + h * o.strides[2] + d * o.strides[3];
    };
    for (std::int64_t b = 0; b < s.batch; ++b)
      for (std::int64_t t = 0; t < s.rows; ++t)
        for (std::int64_t i = 0; i < half; ++i) {
          double angle = static_cast<double>(s.positionOf(call, b, t)) * s.frequencies[static_cast<std::size_t>(i)];
          double cosine = std::cos(angle), sine = s.inverse ? -std::sin(angle) : std::sin(angle);
          for (std::int64_t h = 0; h < s.heads; ++h) {
            double low = load(x, at(x, b, t, h, i)), high = load(x, at(x, b, t, h, i + half));
            store(y, at(y, b, t, h, i), low * cosine - high * sine);
            store(y, at(y, b, t, h, i + half), high * cosine + low * sine);
          }
        }
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
