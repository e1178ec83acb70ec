//===- Pointwise.cpp - element by element, with broadcasting ------------------===//
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/cpu/reference/Elementwise.h"

#include <cmath>
#include <functional>

namespace sluice::cpu::reference {
namespace {

/// y = op(x), floats.
template <typename Op> Bound unary(const KernelRequest &request, Op op) {
  return makeKernel(request, [op](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    walk<2>(y.rank, y.extent, {broadcastStrides(x, y), y.strides},
            [&](auto &at) { store(y, at[1], op(load(x, at[0]))); });
    return Status::ok();
  });
}

/// y = op(x) with a function of the standard library.
Bound unary(const KernelRequest &request, double (*op)(double)) { return unary<double (*)(double)>(request, op); }

/// c = op(a, b), or integerOp(a, b) of integers; all of one type.
template <typename Op, typename IntegerOp> Bound binary(const KernelRequest &request, Op op, IntegerOp integerOp) {
  Check check(request);
  for (const Operand &input : request.inputs) {
    // Floats may differ in type.
    if (!isFloat(request.outputs[0].dtype) || !isFloat(input.dtype))
      SLUICE_RETURN_IF_ERROR(check.dtype(input, request.outputs[0].dtype));
  }
  return makeKernel(request, [op, integerOp](Call &call) {
    const Operand &a = call.inputs[0], &b = call.inputs[1], &c = call.outputs[0];
    std::array<Dims, 3> strides = {broadcastStrides(a, c), broadcastStrides(b, c), c.strides};
    if (isFloat(c.dtype))
      walk(c.rank, c.extent, strides, [&](auto &at) { store(c, at[2], op(load(a, at[0]), load(b, at[1]))); });
    else
      walk(c.rank, c.extent, strides, [&](auto &at) {
        storeInteger(c.data, c.dtype, at[2],
                     integerOp(loadInteger(a.data, a.dtype, at[0]), loadInteger(b.data, b.dtype, at[1])));
      });
    return Status::ok();
  });
}

/// Integers wrap rather than overflow.
template <typename Op> Bound binary(const KernelRequest &request, Op op) {
  return binary(request, op, [op](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(op(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  });
}

/// NaN if either is NaN, as in torch.maximum.
template <typename T> T larger(T a, T b) { return a != a || a > b ? a : b; }

template <typename T> bool holds(kernel::ComparePredicate predicate, T a, T b) {
  switch (predicate) {
  case kernel::ComparePredicate::eq:
    return a == b;
  case kernel::ComparePredicate::ne:
    return a != b;
  case kernel::ComparePredicate::lt:
    return a < b;
  case kernel::ComparePredicate::le:
    return a <= b;
  case kernel::ComparePredicate::gt:
    return a > b;
  case kernel::ComparePredicate::ge:
    return a >= b;
  }
  return false;
}

} // namespace

Bound add(const KernelRequest &request) { return binary(request, std::plus<>()); }
Bound subtract(const KernelRequest &request) { return binary(request, std::minus<>()); }
Bound multiply(const KernelRequest &request) { return binary(request, std::multiplies<>()); }
/// Integers have no NaN: division by zero gives zero, and the one overflow wraps.
Bound divide(const KernelRequest &request) {
  return binary(request, std::divides<>(), [](std::int64_t a, std::int64_t b) {
    return b == 0 ? 0 : b == -1 ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)) : a / b;
  });
}
Bound maximum(const KernelRequest &request) { return binary(request, larger<double>, larger<std::int64_t>); }

Bound negate(const KernelRequest &request) { return unary(request, std::negate<>()); }
Bound exp(const KernelRequest &request) { return unary(request, std::exp); }
Bound log(const KernelRequest &request) { return unary(request, std::log); }
Bound tanh(const KernelRequest &request) { return unary(request, std::tanh); }
Bound erf(const KernelRequest &request) { return unary(request, std::erf); }
Bound sin(const KernelRequest &request) { return unary(request, std::sin); }
Bound cos(const KernelRequest &request) { return unary(request, std::cos); }
Bound sqrt(const KernelRequest &request) { return unary(request, std::sqrt); }
Bound rsqrt(const KernelRequest &request) {
  return unary(request, [](double x) { return 1 / std::sqrt(x); });
}
Bound relu(const KernelRequest &request) {
  return unary(request, [](double x) { return x < 0 ? 0 : x; });
}
Bound sigmoid(const KernelRequest &request) {
  return unary(request, [](double x) { return 1 / (1 + std::exp(-x)); });
}
Bound softplus(const KernelRequest &request) {
  return unary(request, [](double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); });
}
Bound power(const KernelRequest &request) {
  double exponent = request.attributes->number("exponent");
  return unary(request, [exponent](double x) { return std::pow(x, exponent); });
}
Bound scale(const KernelRequest &request) {
  double factor = request.attributes->number("factor");
  return unary(request, [factor](double x) { return x * factor; });
}

Bound relu_grad(const KernelRequest &request) {
  return elementwise<2>(request, [](double dy, double y) { return y > 0 ? dy : 0; });
}

Bound compare(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(Check(request).dtype(request.inputs[1], request.inputs[0].dtype));
  const auto predicate = request.attributes->choice<kernel::ComparePredicate>("predicate");
  return makeKernel(request, [predicate](Call &call) {
    const Operand &a = call.inputs[0], &b = call.inputs[1], &c = call.outputs[0];
    std::uint8_t *out = c.as<std::uint8_t>();
    std::array<Dims, 3> strides = {broadcastStrides(a, c), broadcastStrides(b, c), c.strides};
    if (isFloat(a.dtype))
      walk(c.rank, c.extent, strides, [&](auto &at) { out[at[2]] = holds(predicate, load(a, at[0]), load(b, at[1])); });
    else
      walk(c.rank, c.extent, strides, [&](auto &at) {
        out[at[2]] = holds(predicate, loadInteger(a.data, a.dtype, at[0]), loadInteger(b.data, b.dtype, at[1]));
      });
    return Status::ok();
  });
}

Bound select(const KernelRequest &request) {
  Check check(request);
  for (int i = 1; i < 3; ++i)
    SLUICE_RETURN_IF_ERROR(check.dtype(request.inputs[i], request.outputs[0].dtype));
  return makeKernel(request, [](Call &call) {
    const Operand &condition = call.inputs[0], &a = call.inputs[1], &b = call.inputs[2], &c = call.outputs[0];
    std::size_t bytes = dtypeBytes(c.dtype);
    walk<4>(c.rank, c.extent,
            {broadcastStrides(condition, c), broadcastStrides(a, c), broadcastStrides(b, c), c.strides}, [&](auto &at) {
              const char *from =
                  condition.as<std::uint8_t>()[at[0]] ? a.as<char>() + at[1] * bytes : b.as<char>() + at[2] * bytes;
              std::copy(from, from + bytes, c.as<char>() + at[3] * bytes);
            });
    return Status::ok();
  });
}

Bound cast(const KernelRequest &request) {
  return makeKernel(request, [](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    std::array<Dims, 2> strides = {broadcastStrides(x, y), y.strides};
    // A boolean: also a fraction and NaN are not 0.
    if (y.dtype == DType::u8)
      walk(y.rank, y.extent, strides, [&](auto &at) { y.as<std::uint8_t>()[at[1]] = load(x, at[0]) != 0; });
    else if (isFloat(x.dtype))
      walk(y.rank, y.extent, strides, [&](auto &at) { store(y, at[1], load(x, at[0])); });
    else
      walk(y.rank, y.extent, strides,
           [&](auto &at) { storeInteger(y.data, y.dtype, at[1], loadInteger(x.data, x.dtype, at[0])); });
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
