//===- Pointwise.h - element by element ---------------------------------------------------===//
//
// Inputs have strides that broadcast them over the output. If all operands are dense, an element's offset is its number
// and no division is needed.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_POINTWISE_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_POINTWISE_H

#include "runtime/base/cuda/Element.h"
#include "runtime/kernel/catalogue/Choices.h"

namespace sluice::cuda {

enum class Unary : int {
  negate,
  exp,
  log,
  tanh,
  erf,
  sin,
  cos,
  sqrt,
  rsqrt,
  relu,
  sigmoid,
  softplus,
  power,
  scale,
  identity,
  geluErf,
  geluTanh,
  silu,
  root
};
enum class Binary : int {
  add,
  subtract,
  multiply,
  divide,
  maximum,
  reluGrad,
  geluErfGrad,
  geluTanhGrad,
  siluGrad,
  swiglu,
  runningAverage
};

struct PointwiseArgs {
  View y;
  View x[3];
  /// All operands are dense and have one extent.
  int dense = 0;
  int operation = 0;
  double p = 0, q = 0;
};

template <typename T> SLUICE_DEVICE T sigmoidOf(T x) { return inverseOf(1 + expOf(-x)); }
template <typename T> SLUICE_DEVICE T geluGate(T x) {
  return inverseOf(1 + expOf(x * (T(-2 * 0.79788456080286535588) + T(-2 * 0.79788456080286535588 * 0.044715) * x * x)));
}

/// x with a finite value for an infinity, in a product with a factor that is 0 from some finite x on. It is a select: a
/// branch around a product would keep the elements of a vector from being computed together.
template <typename T> SLUICE_DEVICE T finiteOf(T x) { return x < T(-1e4) ? T(-1e4) : x > T(1e4) ? T(1e4) : x; }

template <typename T> SLUICE_DEVICE T siluOf(T x) { return (x < T(-1e4) ? T(-1e4) : x) * sigmoidOf(x); }

template <typename T> SLUICE_DEVICE T unaryOf(Unary operation, T x, T p) {
  switch (operation) {
  case Unary::negate:
    return -x;
  case Unary::exp:
    return expOf(x);
  case Unary::log:
    return logOf(x);
  case Unary::tanh:
    return tanhOf(x);
  case Unary::erf:
    return erfOf(x);
  case Unary::sin:
    return sinOf(x);
  case Unary::cos:
    return cosOf(x);
  case Unary::sqrt:
    return rootOf(x);
  case Unary::rsqrt:
    return 1 / rootOf(x);
  case Unary::relu:
    return x < 0 ? T(0) : x;
  case Unary::sigmoid:
    return sigmoidOf(x);
  case Unary::softplus:
    return maxOf(x, T(0)) + log1pOf(expOf(-sizeOf(x)));
  case Unary::power:
    return p == 2 ? x * x : p == 1 ? x : p == T(0.5) ? rootOf(x) : p == T(-0.5) ? 1 / rootOf(x) : powerOf(x, p);
  case Unary::scale:
    return x * p;
  case Unary::geluErf:
    return T(0.5) * x * erfcOf(-x * T(0.70710678118654752440));
  case Unary::geluTanh:
    return x * geluGate(x);
  case Unary::silu:
    return siluOf(x);
  default:
    return x;
  }
}

/// silu and its slope, x s and s + x s (1 - s).
template <typename T> struct Silu {
  T value, slope;
  SLUICE_DEVICE explicit Silu(T x) {
    // s and 1 - s, each without a difference.
    const T e = expOf(-sizeOf(x)), larger = inverseOf(1 + e), smaller = e * larger;
    const T s = x < 0 ? smaller : larger;
    value = (x < T(-1e4) ? T(-1e4) : x) * s;
    slope = s + finiteOf(x) * (smaller * larger);
  }
};
template <typename T> SLUICE_DEVICE T siluSlope(T x) { return Silu<T>(x).slope; }

template <typename T> SLUICE_DEVICE T binaryOf(Binary operation, T a, T b, T p, T q) {
  switch (operation) {
  case Binary::add:
    return a + b;
  case Binary::subtract:
    return a - b;
  case Binary::multiply:
    return a * b;
  case Binary::divide:
    return a / b;
  case Binary::maximum:
    return a != a || a > b ? a : b;
  case Binary::reluGrad:
    return b > 0 ? a : T(0);
  case Binary::geluErfGrad:
    return a * (T(0.5) * erfcOf(-b * T(0.70710678118654752440)) +
                (isFinite(b) ? b * T(0.39894228040143267794) * expOf(T(-0.5) * b * b) : b - b));
  case Binary::geluTanhGrad: {
    const T g = geluGate(b), rest = 2 * g * (1 - g), near = finiteOf(b);
    return a * (g + near * rest * T(0.79788456080286535588) * (1 + T(3 * 0.044715) * near * near));
  }
  case Binary::siluGrad:
    return a * siluSlope(b);
  case Binary::swiglu:
    return siluOf(a) * b;
  case Binary::runningAverage:
    return p * a + q * b;
  }
  return a;
}

template <typename E> SLUICE_DEVICE void unary(const PointwiseArgs &args, Lane lane) {
  using T = typename E::Real;
  const Index count = countOf(args.y), step = lane.blocks() * lane.threads();
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += step) {
    const Index from = args.dense ? i : offsetOver(args.x[0].strides, args.y, i);
    const Index to = args.dense ? i : offsetIn(args.y, args.y.rank, i);
    E::write(args.y, to,
             unaryOf<T>(static_cast<Unary>(args.operation), E::read(args.x[0], from), static_cast<T>(args.p)));
  }
}

template <typename E> SLUICE_DEVICE void binary(const PointwiseArgs &args, Lane lane) {
  using T = typename E::Real;
  const Index count = countOf(args.y), step = lane.blocks() * lane.threads();
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += step) {
    const Index left = args.dense ? i : offsetOver(args.x[0].strides, args.y, i);
    const Index right = args.dense ? i : offsetOver(args.x[1].strides, args.y, i);
    const Index to = args.dense ? i : offsetIn(args.y, args.y.rank, i);
    E::write(args.y, to,
             binaryOf<T>(static_cast<Binary>(args.operation), E::read(args.x[0], left), E::read(args.x[1], right),
                         static_cast<T>(args.p), static_cast<T>(args.q)));
  }
}

struct SwigluGradArgs {
  View dy, gate, up, dgate, dup;
};
template <typename E> SLUICE_DEVICE void swigluGrad(const SwigluGradArgs &args, Lane lane) {
  using T = typename E::Real;
  const Index count = countOf(args.dgate), step = lane.blocks() * lane.threads();
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += step) {
    const T dy = E::read(args.dy, offsetIn(args.dy, args.dy.rank, i));
    const T gate = E::read(args.gate, offsetIn(args.gate, args.gate.rank, i));
    const T up = E::read(args.up, offsetIn(args.up, args.up.rank, i));
    E::write(args.dgate, offsetIn(args.dgate, args.dgate.rank, i), dy * up * siluSlope(gate));
    E::write(args.dup, offsetIn(args.dup, args.dup.rank, i), dy * siluOf(gate));
  }
}

/// Integers wrap; a division by zero gives zero.
SLUICE_DEVICE Index integerOf(Binary operation, Index a, Index b) {
  using U = unsigned long long;
  switch (operation) {
  case Binary::add:
    return static_cast<Index>(static_cast<U>(a) + static_cast<U>(b));
  case Binary::subtract:
    return static_cast<Index>(static_cast<U>(a) - static_cast<U>(b));
  case Binary::multiply:
    return static_cast<Index>(static_cast<U>(a) * static_cast<U>(b));
  case Binary::divide:
    return b == 0 ? 0 : b == -1 ? static_cast<Index>(0 - static_cast<U>(a)) : a / b;
  default:
    return a > b ? a : b;
  }
}
SLUICE_DEVICE void binaryInteger(const PointwiseArgs &args, Lane lane) {
  const Index count = countOf(args.y), step = lane.blocks() * lane.threads();
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += step)
    writeInteger(args.y, offsetIn(args.y, args.y.rank, i),
                 integerOf(static_cast<Binary>(args.operation),
                           readInteger(args.x[0], offsetOver(args.x[0].strides, args.y, i)),
                           readInteger(args.x[1], offsetOver(args.x[1].strides, args.y, i))));
}

template <typename T> SLUICE_DEVICE bool holds(kernel::ComparePredicate predicate, T a, T b) {
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
SLUICE_DEVICE void compare(const PointwiseArgs &args, Lane lane) {
  const Index count = countOf(args.y), step = lane.blocks() * lane.threads();
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += step) {
    const Index left = offsetOver(args.x[0].strides, args.y, i), right = offsetOver(args.x[1].strides, args.y, i);
    const auto predicate = static_cast<kernel::ComparePredicate>(args.operation);
    const bool result = isFloatType(args.x[0].type)
                            ? holds(predicate, readAny(args.x[0], left), readAny(args.x[1], right))
                            : holds(predicate, readInteger(args.x[0], left), readInteger(args.x[1], right));
    static_cast<unsigned char *>(args.y.data)[offsetIn(args.y, args.y.rank, i)] = result;
  }
}

/// An element of any type, bit for bit.
SLUICE_DEVICE void moveElement(const View &to, Index toAt, const View &from, Index fromAt) {
  switch (to.type) {
  case typeF64:
  case typeI64:
    static_cast<Index *>(to.data)[toAt] = static_cast<const Index *>(from.data)[fromAt];
    break;
  case typeF32:
  case typeI32:
    static_cast<int *>(to.data)[toAt] = static_cast<const int *>(from.data)[fromAt];
    break;
  case typeBf16:
  case typeF16:
    static_cast<short *>(to.data)[toAt] = static_cast<const short *>(from.data)[fromAt];
    break;
  default:
    static_cast<char *>(to.data)[toAt] = static_cast<const char *>(from.data)[fromAt];
  }
}
SLUICE_DEVICE void select(const PointwiseArgs &args, Lane lane) {
  const Index count = countOf(args.y), step = lane.blocks() * lane.threads();
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += step) {
    const bool first =
        static_cast<const unsigned char *>(args.x[0].data)[offsetOver(args.x[0].strides, args.y, i)] != 0;
    const View &from = args.x[first ? 1 : 2];
    moveElement(args.y, offsetIn(args.y, args.y.rank, i), from, offsetOver(from.strides, args.y, i));
  }
}
SLUICE_DEVICE void cast(const PointwiseArgs &args, Lane lane) {
  const Index count = countOf(args.y), step = lane.blocks() * lane.threads();
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += step) {
    const Index from = offsetOver(args.x[0].strides, args.y, i), to = offsetIn(args.y, args.y.rank, i);
    // A boolean: also a fraction and NaN are not 0.
    if (args.y.type == typeU8)
      static_cast<unsigned char *>(args.y.data)[to] = readAny(args.x[0], from) != 0;
    else if (isFloatType(args.x[0].type))
      writeAny(args.y, to, readAny(args.x[0], from));
    else
      writeInteger(args.y, to, readInteger(args.x[0], from));
  }
}
/// Also with an offset of the input and output: slices, concatenation, padding.
SLUICE_DEVICE void strided(const PointwiseArgs &args, Lane lane) {
  const Index count = countOf(args.y), step = lane.blocks() * lane.threads();
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += step)
    moveElement(args.y, offsetIn(args.y, args.y.rank, i), args.x[0], offsetOver(args.x[0].strides, args.y, i));
}
SLUICE_DEVICE void constant(const PointwiseArgs &args, Lane lane) {
  const Index count = countOf(args.y), step = lane.blocks() * lane.threads();
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += step)
    writeAny(args.y, offsetIn(args.y, args.y.rank, i), args.p);
}
/// y += x; `operation` 1: y = x.
SLUICE_DEVICE void accumulate(const PointwiseArgs &args, Lane lane) {
  const Index count = countOf(args.y), step = lane.blocks() * lane.threads();
  const bool wide = args.y.type == typeF64 || args.x[0].type == typeF64;
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += step) {
    const Index from = offsetOver(args.x[0].strides, args.y, i), to = offsetIn(args.y, args.y.rank, i);
    if (wide)
      writeAny(args.y, to, readAny(args.x[0], from) + (args.operation ? 0 : readAny(args.y, to)));
    else
      Mixed::write(args.y, to, Mixed::read(args.x[0], from) + (args.operation ? 0 : Mixed::read(args.y, to)));
  }
}
SLUICE_DEVICE void countUp(const PointwiseArgs &args, Lane lane) {
  const Index count = countOf(args.y), step = lane.blocks() * lane.threads();
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < count; i += step)
    writeInteger(args.y, offsetIn(args.y, args.y.rank, i),
                 readInteger(args.x[0], offsetOver(args.x[0].strides, args.y, i)) + 1);
}

} // namespace sluice::cuda

#define SLUICE_POINTWISE_KERNELS(X)                                                                                    \
  SLUICE_POLICIES(X, unary, PointwiseArgs)                                                                             \
  SLUICE_POLICIES(X, binary, PointwiseArgs)                                                                            \
  SLUICE_POLICIES(X, swigluGrad, SwigluGradArgs)                                                                       \
  X(sluice_binaryInteger, binaryInteger, PointwiseArgs)                                                                \
  X(sluice_compare, compare, PointwiseArgs)                                                                            \
  X(sluice_select, select, PointwiseArgs)                                                                              \
  X(sluice_cast, cast, PointwiseArgs)                                                                                  \
  X(sluice_strided, strided, PointwiseArgs)                                                                            \
  X(sluice_constant, constant, PointwiseArgs)                                                                          \
  X(sluice_accumulate, accumulate, PointwiseArgs)                                                                      \
  X(sluice_countUp, countUp, PointwiseArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_POINTWISE_H
