//===- Pooling.cpp - pooling by rows of channels ------------------------------------===//
//
// A window is visited position by position, all channels of a position at a time. Each image is computed by one thread.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/ConvolutionShape.h"
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <cstring>

namespace sluice::cpu {
namespace {

/// The channels of a position.
float *at(const Operand &o, std::int64_t n, std::int64_t i, std::int64_t j) {
  return o.as<float>() + n * o.strides[0] + i * o.strides[1] + j * o.strides[2];
}

/// body(n, i, j) for each window, images in parallel.
template <typename Body> void forWindows(int threads, const PoolShape &s, Body body) {
  forEach(threads, s.images, [&](std::int64_t n) {
    for (std::int64_t i = 0; i < s.out[0]; ++i)
      for (std::int64_t j = 0; j < s.out[1]; ++j)
        body(n, i, j);
  });
}

void clear(int threads, const Operand &o, const PoolShape &s) {
  forEach(threads, s.images, [&](std::int64_t n) {
    for (std::int64_t p = 0; p < s.in[0]; ++p)
      for (std::int64_t q = 0; q < s.in[1]; ++q)
        std::memset(at(o, n, p, q), 0, static_cast<std::size_t>(s.channels) * sizeof(float));
  });
}

Bound maxForward(const KernelRequest &request, const PoolShape &s) {
  return makeKernel(request, [s](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    forWindows(call.threads, s, [&](auto n, auto i, auto j) {
      float *best = at(y, n, i, j);
      bool isFirst = true;
      s.forWindow(i, j, [&](auto p, auto q) {
        const float *row = at(x, n, p, q);
        if (isFirst)
          std::memcpy(best, row, static_cast<std::size_t>(s.channels) * sizeof(float));
        else
          // Takes the first argument if it is larger or NaN.
          loops().f32.binary(BinaryLoop::maximum, row, 1, best, 1, best, s.channels);
        isFirst = false;
      });
    });
    return Status::ok();
  });
}

/// The first position with the maximum receives the cotangent.
Bound maxBackward(const KernelRequest &request, const PoolShape &s) {
  return makeKernel(request, [s](Call &call) {
    const Operand &dy = call.inputs[0], &x = call.inputs[1], &dx = call.outputs[0];
    clear(call.threads, dx, s);
    forWindows(call.threads, s, [&](auto n, auto i, auto j) {
      const float *g = at(dy, n, i, j);
      for (std::int64_t c = 0; c < s.channels; ++c) {
        std::int64_t row = s.begin(0, i), column = s.begin(1, j);
        float most = at(x, n, row, column)[c];
        s.forWindow(i, j, [&](auto p, auto q) {
          float value = at(x, n, p, q)[c];
          if (value > most || (value != value && most == most))
            most = value, row = p, column = q;
        });
        at(dx, n, row, column)[c] += g[c];
      }
    });
    return Status::ok();
  });
}

Bound meanForward(const KernelRequest &request, const PoolShape &s) {
  return makeKernel(request, [s](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    forWindows(call.threads, s, [&](auto n, auto i, auto j) {
      float *sum = at(y, n, i, j);
      // Rows of a large window are added separately, so that sums of thousands of elements keep their digits.
      std::memset(sum, 0, static_cast<std::size_t>(s.channels) * sizeof(float));
      constexpr std::int64_t block = 64;
      float row[block];
      for (std::int64_t begin = 0; begin < s.channels; begin += block) {
        std::int64_t count = std::min(block, s.channels - begin);
        for (std::int64_t p = s.begin(0, i); p < s.end(0, i); ++p) {
          std::memset(row, 0, sizeof row);
          for (std::int64_t q = s.begin(1, j); q < s.end(1, j); ++q)
            loops().f32.addTo(at(x, n, p, q) + begin, row, count);
          loops().f32.addTo(row, sum + begin, count);
        }
      }
      loops().f32.unary(UnaryLoop::scale, sum, sum, s.channels,
                        static_cast<float>(1.0 / static_cast<double>(s.divisor(i, j))));
    });
    return Status::ok();
  });
}

Bound meanBackward(const KernelRequest &request, const PoolShape &s) {
  return makeKernel(request, [s](Call &call) {
    const Operand &dy = call.inputs[0], &dx = call.outputs[0];
    clear(call.threads, dx, s);
    forWindows(call.threads, s, [&](auto n, auto i, auto j) {
      constexpr std::int64_t block = 64;
      float share[block];
      auto factor = static_cast<float>(1.0 / static_cast<double>(s.divisor(i, j)));
      for (std::int64_t begin = 0; begin < s.channels; begin += block) {
        std::int64_t count = std::min(block, s.channels - begin);
        loops().f32.unary(UnaryLoop::scale, at(dy, n, i, j) + begin, share, count, factor);
        s.forWindow(i, j, [&](auto p, auto q) { loops().f32.addTo(share, at(dx, n, p, q) + begin, count); });
      }
    });
    return Status::ok();
  });
}

/// The fast form is for f32 with contiguous channels.
Bound prepare(const KernelRequest &request, bool isGrad, Bound (*fast)(const KernelRequest &, const PoolShape &)) {
  const Operand &y = isGrad ? request.inputs[0] : request.outputs[0];
  const Operand &x = isGrad ? request.outputs[0] : request.inputs[0];
  if (!haveType(DType::f32, request.inputs) || !haveType(DType::f32, request.outputs) || !allContiguousRows(request) ||
      x.elements() == 0 || y.elements() == 0)
    return useReference();
  SLUICE_ASSIGN_OR_RETURN(PoolShape shape, PoolShape::of(request, x, y));
  return fast(request, shape);
}

} // namespace

Bound fast::max_pool2d(const KernelRequest &request) { return prepare(request, false, maxForward); }
Bound fast::max_pool2d_grad(const KernelRequest &request) { return prepare(request, true, maxBackward); }
Bound fast::avg_pool2d(const KernelRequest &request) { return prepare(request, false, meanForward); }
Bound fast::avg_pool2d_grad(const KernelRequest &request) { return prepare(request, true, meanBackward); }

} // namespace sluice::cpu
