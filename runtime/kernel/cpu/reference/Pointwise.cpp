//===- Pointwise.cpp - element by element, with broadcasting ------------------===//
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/cpu/reference/Elementwise.h"

#include <cmath>

namespace sluice::cpu::reference {
namespace {

/// y = op(x), floats.
template <typename Op> Bound unary(const KernelRequest &request, Op op) {
  SLUICE_RETURN_IF_ERROR(Check(request).broadcast(request.inputs[0], request.outputs[0]));
  return makeKernel(request, [op](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    walk<2>(y.rank, y.extent, {broadcastStrides(x, y), y.strides},
            [&](auto &at) { store(y, at[1], op(load(x, at[0]))); });
    return Status::ok();
  });
}

/// c = op(a, b), all of one type. Integers are computed as integers.
template <typename Op> Bound binary(const KernelRequest &request, Op op) {
  Check check(request);
  for (const Operand &input : request.inputs) {
    SLUICE_RETURN_IF_ERROR(check.broadcast(input, request.outputs[0]));
    // Floats may differ in type.
    if (!isFloat(request.outputs[0].dtype) || !isFloat(input.dtype))
      SLUICE_RETURN_IF_ERROR(check.dtype(input, request.outputs[0].dtype));
  }
  return makeKernel(request, [op](Call &call) {
    const Operand &a = call.inputs[0], &b = call.inputs[1], &c = call.outputs[0];
    std::array<Dims, 3> strides = {broadcastStrides(a, c), broadcastStrides(b, c), c.strides};
    if (isFloat(c.dtype))
      walk(c.rank, c.extent, strides, [&](auto &at) { store(c, at[2], op(load(a, at[0]), load(b, at[1]))); });
    else
      walk(c.rank, c.extent, strides, [&](auto &at) {
        storeInteger(c.data, c.dtype, at[2],
                     op(loadInteger(a.data, a.dtype, at[0]), loadInteger(b.data, b.dtype, at[1])));
      });
    return Status::ok();
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

/// Wraps rather than overflowing.
std::int64_t wrap(std::uint64_t value) { return static_cast<std::int64_t>(value); }

struct Add {
  double operator()(double a, double b) const { return a + b; }
  std::int64_t operator()(std::int64_t a, std::int64_t b) const { return wrap(std::uint64_t(a) + std::uint64_t(b)); }
};
struct Subtract {
  double operator()(double a, double b) const { return a - b; }
  std::int64_t operator()(std::int64_t a, std::int64_t b) const { return wrap(std::uint64_t(a) - std::uint64_t(b)); }
};
struct Multiply {
  double operator()(double a, double b) const { return a * b; }
  std::int64_t operator()(std::int64_t a, std::int64_t b) const { return wrap(std::uint64_t(a) * std::uint64_t(b)); }
};
struct Divide {
  double operator()(double a, double b) const { return a / b; }
  /// Division by zero gives zero and the one overflow wraps: integers have no NaN.
  std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    return b == 0 ? 0 : b == -1 ? wrap(0 - std::uint64_t(a)) : a / b;
  }
};
struct Maximum {
  double operator()(double a, double b) const { return larger(a, b); }
  std::int64_t operator()(std::int64_t a, std::int64_t b) const { return larger(a, b); }
};

} // namespace

Bound add(const KernelRequest &request) { return binary(request, Add()); }
Bound subtract(const KernelRequest &request) { return binary(request, Subtract()); }
Bound multiply(const KernelRequest &request) { return binary(request, Multiply()); }
Bound divide(const KernelRequest &request) { return binary(request, Divide()); }
Bound maximum(const KernelRequest &request) { return binary(request, Maximum()); }

Bound negate(const KernelRequest &request) {
  return unary(request, [](double x) { return -x; });
}
Bound exp(const KernelRequest &request) {
  return unary(request, [](double x) { return std::exp(x); });
}
Bound log(const KernelRequest &request) {
  return unary(request, [](double x) { return std::log(x); });
}
Bound tanh(const KernelRequest &request) {
  return unary(request, [](double x) { return std::tanh(x); });
}
Bound erf(const KernelRequest &request) {
  return unary(request, [](double x) { return std::erf(x); });
}
Bound sin(const KernelRequest &request) {
  return unary(request, [](double x) { return std::sin(x); });
}
Bound cos(const KernelRequest &request) {
  return unary(request, [](double x) { return std::cos(x); });
}
Bound sqrt(const KernelRequest &request) {
  return unary(request, [](double x) { return std::sqrt(x); });
}
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
  Check check(request);
  SLUICE_RETURN_IF_ERROR(check.dtype(request.inputs[1], request.inputs[0].dtype));
  for (const Operand &input : request.inputs)
    SLUICE_RETURN_IF_ERROR(check.broadcast(input, request.outputs[0]));
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
  for (const Operand &input : request.inputs)
    SLUICE_RETURN_IF_ERROR(check.broadcast(input, request.outputs[0]));
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
  SLUICE_RETURN_IF_ERROR(Check(request).broadcast(request.inputs[0], request.outputs[0]));
  return makeKernel(request, [](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    std::array<Dims, 2> strides = {broadcastStrides(x, y), y.strides};
    if (isFloat(x.dtype))
      walk(y.rank, y.extent, strides, [&](auto &at) { store(y, at[1], load(x, at[0])); });
    else
      walk(y.rank, y.extent, strides,
           [&](auto &at) { storeInteger(y.data, y.dtype, at[1], loadInteger(x.data, x.dtype, at[0])); });
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
