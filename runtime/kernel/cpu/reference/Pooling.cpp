//===- Pooling.cpp - maxima and means of windows, and their derivatives -----------------------===//
#include "runtime/kernel/cpu/ConvolutionShape.h"
#include "runtime/kernel/cpu/CpuKernels.h"

namespace sluice::cpu::reference {
namespace {

std::int64_t elementAt(const Operand &o, std::int64_t n, std::int64_t i, std::int64_t j, std::int64_t c) {
  return n * o.strides[0] + i * o.strides[1] + j * o.strides[2] + c * o.strides[3];
}

/// body(n, i, j, c) for each window.
template <typename Body> void forWindows(const PoolShape &s, Body body) {
  for (std::int64_t n = 0; n < s.images; ++n)
    for (std::int64_t i = 0; i < s.out[0]; ++i)
      for (std::int64_t j = 0; j < s.out[1]; ++j)
        for (std::int64_t c = 0; c < s.channels; ++c)
          body(n, i, j, c);
}

/// The first of a window's maxima; a NaN is one.
std::array<std::int64_t, 2> largestOf(const PoolShape &s, const Operand &x, std::int64_t n, std::int64_t i,
                                      std::int64_t j, std::int64_t c) {
  std::array<std::int64_t, 2> best = {s.begin(0, i), s.begin(1, j)};
  double most = load(x, elementAt(x, n, best[0], best[1], c));
  s.forWindow(i, j, [&](std::int64_t p, std::int64_t q) {
    double value = load(x, elementAt(x, n, p, q, c));
    if (value > most || (value != value && most == most)) {
      most = value;
      best = {p, q};
    }
  });
  return best;
}

void clear(const Operand &o) {
  walk<1>(o.rank, o.extent, {o.strides}, [&](auto &to) { store(o, to[0], 0); });
}

void addTo(const Operand &o, std::int64_t place, double value) { store(o, place, load(o, place) + value); }

} // namespace

Bound max_pool2d(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(PoolShape s, PoolShape::of(request, request.inputs[0], request.outputs[0]));
  return makeKernel(request, [s](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    forWindows(s, [&](auto n, auto i, auto j, auto c) {
      auto [p, q] = largestOf(s, x, n, i, j, c);
      store(y, elementAt(y, n, i, j, c), load(x, elementAt(x, n, p, q, c)));
    });
    return Status::ok();
  });
}

Bound max_pool2d_grad(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(PoolShape s, PoolShape::of(request, request.inputs[1], request.inputs[0]));
  return makeKernel(request, [s](Call &call) {
    const Operand &dy = call.inputs[0], &x = call.inputs[1], &dx = call.outputs[0];
    clear(dx);
    forWindows(s, [&](auto n, auto i, auto j, auto c) {
      auto [p, q] = largestOf(s, x, n, i, j, c);
      addTo(dx, elementAt(dx, n, p, q, c), load(dy, elementAt(dy, n, i, j, c)));
    });
    return Status::ok();
  });
}

Bound avg_pool2d(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(PoolShape s, PoolShape::of(request, request.inputs[0], request.outputs[0]));
  return makeKernel(request, [s](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    forWindows(s, [&](auto n, auto i, auto j, auto c) {
      double sum = 0;
      s.forWindow(i, j, [&](auto p, auto q) { sum += load(x, elementAt(x, n, p, q, c)); });
      store(y, elementAt(y, n, i, j, c), sum / static_cast<double>(s.divisor(i, j)));
    });
    return Status::ok();
  });
}

Bound avg_pool2d_grad(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(PoolShape s, PoolShape::of(request, request.outputs[0], request.inputs[0]));
  return makeKernel(request, [s](Call &call) {
    const Operand &dy = call.inputs[0], &dx = call.outputs[0];
    clear(dx);
    forWindows(s, [&](auto n, auto i, auto j, auto c) {
      double share = load(dy, elementAt(dy, n, i, j, c)) / static_cast<double>(s.divisor(i, j));
      s.forWindow(i, j, [&](auto p, auto q) { addTo(dx, elementAt(dx, n, p, q, c), share); });
    });
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
