//===- Pointwise.cpp - element by element, by rows of the last dim ------------===//
//
// An operand may repeat over any dim: over the last with step 0, over others with a stride of 0.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/FastKernels.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/reference/References.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {
namespace {

int lastStep(const Operand &x) { return x.rank == 0 ? 0 : static_cast<int>(x.strides[x.rank - 1] != 0); }

template <typename T> Bound binaryOf(const KernelRequest &request, BinaryLoop op) {
  return makeKernel(request, [&l = loops().of<T>(), op](Call &call) {
    const Operand &c = call.outputs[0];
    const Operand &a = call.inputs[0], &b = call.inputs[1];
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

Bound binary(const KernelRequest &request, PrepareFunction plain, BinaryLoop op) {
  SLUICE_ASSIGN_OR_RETURN(auto slow, plain(request));
  const Operand &a = request.inputs[0], &b = request.inputs[1], &c = request.outputs[0];
  if (!contiguousRows(c) || !stepsBy01(a, c) || !stepsBy01(b, c))
    return slow;
  if (!hasLoops(c.dtype) || !allOf(c.dtype, a, b))
    return slow;
  return withLoops(c.dtype, [&]<typename T>() { return binaryOf<T>(request, op); });
}

template <typename T> Bound unaryOf(const KernelRequest &request, UnaryLoop op, float factor) {
  return makeKernel(request, [&l = loops().of<T>(), op, factor](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    forStretches<2>(call.threads, {&x, &y}, [&](auto &at, std::int64_t count) {
      l.unary(op, x.as<T>() + at[0], y.as<T>() + at[1], count, factor);
    });
    return Status::ok();
  });
}

Bound unary(const KernelRequest &request, PrepareFunction plain, UnaryLoop op, float factor = 1) {
  SLUICE_ASSIGN_OR_RETURN(auto slow, plain(request));
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (!sameExtent(x, y) || !allContiguousRows(request))
    return slow;
  if (!hasLoops(x.dtype) || x.dtype != y.dtype)
    return slow;
  return withLoops(x.dtype, [&]<typename T>() { return unaryOf<T>(request, op, factor); });
}

template <typename T> Bound squareOf(const KernelRequest &request) {
  return makeKernel(request, [&l = loops().of<T>()](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    forStretches<2>(call.threads, {&x, &y}, [&](auto &at, std::int64_t count) {
      l.binary(BinaryLoop::multiply, x.as<T>() + at[0], 1, x.as<T>() + at[0], 1, y.as<T>() + at[1], count);
    });
    return Status::ok();
  });
}

} // namespace

Bound fast::add(const KernelRequest &request) { return binary(request, reference::add, BinaryLoop::add); }
Bound fast::subtract(const KernelRequest &request) {
  return binary(request, reference::subtract, BinaryLoop::subtract);
}
Bound fast::multiply(const KernelRequest &request) {
  return binary(request, reference::multiply, BinaryLoop::multiply);
}
Bound fast::divide(const KernelRequest &request) { return binary(request, reference::divide, BinaryLoop::divide); }
Bound fast::maximum(const KernelRequest &request) { return binary(request, reference::maximum, BinaryLoop::maximum); }
Bound fast::negate(const KernelRequest &request) { return unary(request, reference::negate, UnaryLoop::negate); }
Bound fast::exp(const KernelRequest &request) { return unary(request, reference::exp, UnaryLoop::exp); }
Bound fast::log(const KernelRequest &request) { return unary(request, reference::log, UnaryLoop::log); }
Bound fast::relu(const KernelRequest &request) { return unary(request, reference::relu, UnaryLoop::relu); }
Bound fast::scale(const KernelRequest &request) {
  return unary(request, reference::scale, UnaryLoop::scale, static_cast<float>(request.attributes->number("factor")));
}
Bound fast::sqrt(const KernelRequest &request) { return unary(request, reference::sqrt, UnaryLoop::sqrt); }
Bound fast::rsqrt(const KernelRequest &request) { return unary(request, reference::rsqrt, UnaryLoop::rsqrt); }
Bound fast::tanh(const KernelRequest &request) { return unary(request, reference::tanh, UnaryLoop::tanh); }
Bound fast::erf(const KernelRequest &request) { return unary(request, reference::erf, UnaryLoop::erf); }
Bound fast::relu_grad(const KernelRequest &request) {
  return binary(request, reference::relu_grad, BinaryLoop::maskPositive);
}
Bound fast::sigmoid(const KernelRequest &request) { return unary(request, reference::sigmoid, UnaryLoop::sigmoid); }
Bound fast::softplus(const KernelRequest &request) { return unary(request, reference::softplus, UnaryLoop::softplus); }

/// The powers that have a loop: the square, the roots and the identity; others by the reference.
Bound fast::power(const KernelRequest &request) {
  double exponent = request.attributes->number("exponent");
  if (exponent == 0.5)
    return unary(request, reference::power, UnaryLoop::sqrt);
  if (exponent == -0.5)
    return unary(request, reference::power, UnaryLoop::rsqrt);
  if (exponent == 1)
    return unary(request, reference::power, UnaryLoop::scale);
  SLUICE_ASSIGN_OR_RETURN(auto slow, reference::power(request));
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (exponent != 2 || !sameExtent(x, y) || !allContiguousRows(request))
    return slow;
  if (!hasLoops(x.dtype) || x.dtype != y.dtype)
    return slow;
  return withLoops(x.dtype, [&]<typename T>() { return squareOf<T>(request); });
}

/// Between f32 and the narrow types; others by the reference.
Bound fast::cast(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto slow, reference::cast(request));
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (!sameExtent(x, y) || !allContiguousRows(request))
    return slow;
  if (!hasLoops(x.dtype) || !hasLoops(y.dtype) || x.dtype == y.dtype)
    return slow;
  if (y.dtype == DType::f32)
    return withLoops(x.dtype, [&]<typename T>() {
      return makeKernel(request, [&l = loops().of<T>()](Call &call) {
        const Operand &x = call.inputs[0], &y = call.outputs[0];
        forStretches<2>(call.threads, {&x, &y}, [&](auto &at, std::int64_t count) {
          l.widen(x.as<T>() + at[0], y.as<float>() + at[1], count);
        });
        return Status::ok();
      });
    });
  if (x.dtype == DType::f32)
    return withLoops(y.dtype, [&]<typename T>() {
      return makeKernel(request, [&l = loops().of<T>()](Call &call) {
        const Operand &x = call.inputs[0], &y = call.outputs[0];
        forStretches<2>(call.threads, {&x, &y}, [&](auto &at, std::int64_t count) {
          l.narrow(x.as<float>() + at[0], y.as<T>() + at[1], count);
        });
        return Status::ok();
      });
    });
  return slow;
}

} // namespace sluice::cpu
