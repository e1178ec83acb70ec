//===- Pointwise.cpp - element by element, by rows of the last dim ------------===//
//
// An operand may repeat over any dim: over the last with step 0, over others with a stride of 0.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/OneType.h"

namespace sluice::cpu {
namespace {

int lastStep(const Operand &x) { return x.rank == 0 ? 0 : static_cast<int>(x.strides[x.rank - 1] != 0); }

template <typename T> Bound binaryOf(const KernelRequest &request, BinaryLoop op) {
  return makeKernel(request, [&l = loops().of<T>(), op](Call &call) {
    const Operand &c = call.outputs[0];
    const Operand &a = call.inputs[0], &b = call.inputs[1];
    // A loop with step 0 reads its operand before the first element.
    if (c.elements() == 0)
      return Status::ok();
    // A view that repeats may have the result's extent and a stride of 0.
    if (sameExtent(a, c) && sameExtent(b, c) && contiguousRows(a) && contiguousRows(b)) {
      forStretches<3>(call.threads, {&c, &a, &b}, [&](auto &at, std::int64_t count) {
        l.binary(op, a.as<T>() + at[1], 1, b.as<T>() + at[2], 1, c.as<T>() + at[0], count);
      });
      return Status::ok();
    }
    Operand wideA = spread(a, c), wideB = spread(b, c);
    Rows rows(c), rowsA(wideA), rowsB(wideB);
    int stepA = lastStep(wideA), stepB = lastStep(wideB);
    forEach(call.threads, rows.rows, [&](std::int64_t row) {
      l.binary(op, rowsA.at<T>(row), stepA, rowsB.at<T>(row), stepB, rows.at<T>(row), rows.columns);
    });
    return Status::ok();
  });
}

Bound binary(const KernelRequest &request, BinaryLoop op) {
  const Operand &a = request.inputs[0], &b = request.inputs[1], &c = request.outputs[0];
  if (!contiguousRows(c) || !stepsBy01(a, c) || !stepsBy01(b, c) || !hasLoops(c.dtype) || !allOf(c.dtype, a, b))
    return useReference();
  return withLoops(c.dtype, [&]<typename T>() { return binaryOf<T>(request, op); });
}

Bound unary(const KernelRequest &request, UnaryLoop op, float factor = 1) {
  if (!sameExtent(request.inputs[0], request.outputs[0]))
    return useReference();
  return byStretches<2>(
      request, [op, factor](auto &l, auto *x, auto *y, std::int64_t count) { l.unary(op, x, y, count, factor); });
}

} // namespace

Bound fast::add(const KernelRequest &request) { return binary(request, BinaryLoop::add); }
Bound fast::subtract(const KernelRequest &request) { return binary(request, BinaryLoop::subtract); }
Bound fast::multiply(const KernelRequest &request) { return binary(request, BinaryLoop::multiply); }
Bound fast::divide(const KernelRequest &request) { return binary(request, BinaryLoop::divide); }
Bound fast::maximum(const KernelRequest &request) { return binary(request, BinaryLoop::maximum); }
Bound fast::negate(const KernelRequest &request) { return unary(request, UnaryLoop::negate); }
Bound fast::exp(const KernelRequest &request) { return unary(request, UnaryLoop::exp); }
Bound fast::log(const KernelRequest &request) { return unary(request, UnaryLoop::log); }
Bound fast::relu(const KernelRequest &request) { return unary(request, UnaryLoop::relu); }
Bound fast::scale(const KernelRequest &request) {
  return unary(request, UnaryLoop::scale, static_cast<float>(request.attributes->number("factor")));
}
Bound fast::sqrt(const KernelRequest &request) { return unary(request, UnaryLoop::sqrt); }
Bound fast::rsqrt(const KernelRequest &request) { return unary(request, UnaryLoop::rsqrt); }
Bound fast::tanh(const KernelRequest &request) { return unary(request, UnaryLoop::tanh); }
Bound fast::erf(const KernelRequest &request) { return unary(request, UnaryLoop::erf); }
Bound fast::relu_grad(const KernelRequest &request) { return binary(request, BinaryLoop::maskPositive); }
Bound fast::sigmoid(const KernelRequest &request) { return unary(request, UnaryLoop::sigmoid); }
Bound fast::softplus(const KernelRequest &request) { return unary(request, UnaryLoop::softplus); }

/// The square, the roots and the identity have loops.
Bound fast::power(const KernelRequest &request) {
  const double exponent = request.attributes->number("exponent");
  if (exponent == 0.5)
    return unary(request, UnaryLoop::sqrt);
  if (exponent == -0.5)
    return unary(request, UnaryLoop::rsqrt);
  if (exponent == 1)
    return unary(request, UnaryLoop::scale);
  if (exponent != 2 || !sameExtent(request.inputs[0], request.outputs[0]))
    return useReference();
  return byStretches<2>(request, [](auto &l, auto *x, auto *y, std::int64_t count) {
    l.binary(BinaryLoop::multiply, x, 1, x, 1, y, count);
  });
}

/// Between f32 and the narrow types.
Bound fast::cast(const KernelRequest &request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  const bool widens = y.dtype == DType::f32;
  if (!sameExtent(x, y) || !allContiguousRows(request) || !hasLoops(x.dtype) || !hasLoops(y.dtype) ||
      x.dtype == y.dtype || (!widens && x.dtype != DType::f32))
    return useReference();
  return withLoops(widens ? x.dtype : y.dtype, [&]<typename T>() {
    return makeKernel(request, [&l = loops().of<T>(), widens](Call &call) {
      const Operand &x = call.inputs[0], &y = call.outputs[0];
      forStretches<2>(call.threads, {&x, &y}, [&](auto &at, std::int64_t count) {
        if (widens)
          l.widen(x.as<T>() + at[0], y.as<float>() + at[1], count);
        else
          l.narrow(x.as<float>() + at[0], y.as<T>() + at[1], count);
      });
      return Status::ok();
    });
  });
}

} // namespace sluice::cpu
