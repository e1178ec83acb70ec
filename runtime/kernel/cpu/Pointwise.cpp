//===- Pointwise.cpp - element by element, by rows of the last dim ------------===//
//
// An operand may repeat over any dim: over the last with step 0, over others with a stride of 0.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/Registry.h"
#include "runtime/kernel/cpu/reference/References.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {
namespace {

int lastStep(const Operand &x) { return x.rank == 0 ? 0 : static_cast<int>(x.strides[x.rank - 1] != 0); }

template <typename T> Bound binaryOf(const KernelRequest &request, int op) {
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

Bound binary(const KernelRequest &request, PrepareFunction plain, int op) {
  SLUICE_ASSIGN_OR_RETURN(auto slow, plain(request));
  const Operand &a = request.inputs[0], &b = request.inputs[1], &c = request.outputs[0];
  if (!contiguousRows(c) || !stepsBy01(a, c) || !stepsBy01(b, c))
    return slow;
  if (!hasLoops(c.dtype) || !allOf(c.dtype, a, b))
    return slow;
  return withLoops(c.dtype, [&]<typename T>() { return binaryOf<T>(request, op); });
}

template <typename T> Bound unaryOf(const KernelRequest &request, int op, float factor) {
  return makeKernel(request, [&l = loops().of<T>(), op, factor](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    forStretches<2>(call.threads, {&x, &y}, [&](auto &at, std::int64_t count) {
      l.unary(op, x.as<T>() + at[0], y.as<T>() + at[1], count, factor);
    });
    return Status::ok();
  });
}

Bound unary(const KernelRequest &request, PrepareFunction plain, int op, float factor = 1) {
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
      l.binary(2, x.as<T>() + at[0], 1, x.as<T>() + at[0], 1, y.as<T>() + at[1], count);
    });
    return Status::ok();
  });
}

/// The powers that have a loop: the square, the roots and the identity; others by the reference.
Bound power(const KernelRequest &request) {
  double exponent = numberAttribute(request, "exponent", 1);
  if (exponent == 0.5)
    return unary(request, reference::power, 4);
  if (exponent == -0.5)
    return unary(request, reference::power, 5);
  if (exponent == 1)
    return unary(request, reference::power, 3);
  SLUICE_ASSIGN_OR_RETURN(auto slow, reference::power(request));
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (exponent != 2 || !sameExtent(x, y) || !allContiguousRows(request))
    return slow;
  if (!hasLoops(x.dtype) || x.dtype != y.dtype)
    return slow;
  return withLoops(x.dtype, [&]<typename T>() { return squareOf<T>(request); });
}

/// Between f32 and the narrow types; others by the reference.
Bound cast(const KernelRequest &request) {
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

} // namespace

FastKernels pointwiseKernels() {
  static constexpr FastKernel kernels[] = {
      {"add", [](const KernelRequest &request) { return binary(request, reference::add, 0); }},
      {"subtract", [](const KernelRequest &request) { return binary(request, reference::subtract, 1); }},
      {"multiply", [](const KernelRequest &request) { return binary(request, reference::multiply, 2); }},
      {"divide", [](const KernelRequest &request) { return binary(request, reference::divide, 3); }},
      {"maximum", [](const KernelRequest &request) { return binary(request, reference::maximum, 4); }},
      {"negate", [](const KernelRequest &request) { return unary(request, reference::negate, 0); }},
      {"exp", [](const KernelRequest &request) { return unary(request, reference::exp, 1); }},
      {"log", [](const KernelRequest &request) { return unary(request, reference::log, 10); }},
      {"relu", [](const KernelRequest &request) { return unary(request, reference::relu, 2); }},
      {"scale",
       [](const KernelRequest &request) {
         return unary(request, reference::scale, 3, static_cast<float>(numberAttribute(request, "factor", 1)));
       }},
      {"sqrt", [](const KernelRequest &request) { return unary(request, reference::sqrt, 4); }},
      {"rsqrt", [](const KernelRequest &request) { return unary(request, reference::rsqrt, 5); }},
      {"tanh", [](const KernelRequest &request) { return unary(request, reference::tanh, 6); }},
      {"erf", [](const KernelRequest &request) { return unary(request, reference::erf, 7); }},
      {"relu_grad", [](const KernelRequest &request) { return binary(request, reference::relu_grad, 5); }},
      {"sigmoid", [](const KernelRequest &request) { return unary(request, reference::sigmoid, 8); }},
      {"softplus", [](const KernelRequest &request) { return unary(request, reference::softplus, 9); }},
      {"power", power},
      {"cast", cast},
  };
  return kernels;
}

} // namespace sluice::cpu
