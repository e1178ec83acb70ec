//===- Element.h - operands inside device kernels --------------------------------------===//
//
// A View is an Operand as a kernel's argument struct carries it. A policy says how elements of it are read and written
// and in which type is computed: F32 and B16 where all operands have that type, Mixed for f32, bf16 and f16 in any
// mixture (all three compute in float), Wide for everything else (computes in double). bf16 and f16 round to nearest
// even.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_CUDA_ELEMENT_H
#define SLUICE_RUNTIME_BASE_CUDA_ELEMENT_H

#include "runtime/base/Half.h"
#include "runtime/base/cuda/Lane.h"

#include <math.h>

namespace sluice::cuda {

/// As maxRank in Kernel.h.
inline constexpr int viewRank = 8;

/// The values of DType.
enum ElementType : int { typeF32, typeF64, typeBf16, typeF16, typeI32, typeI64, typeU8 };

struct View {
  void *data = nullptr;
  int type = typeF32;
  int rank = 0;
  Index extent[viewRank] = {};
  Index strides[viewRank] = {};
};

SLUICE_DEVICE float floatOfBits(unsigned bits) { return __builtin_bit_cast(float, bits); }

SLUICE_DEVICE float readBf16(const void *data, Index at) {
  return bf16ToFloat(static_cast<const std::uint16_t *>(data)[at]);
}
SLUICE_DEVICE void writeBf16(void *data, Index at, float value) {
  static_cast<std::uint16_t *>(data)[at] = floatToBf16(value);
}
SLUICE_DEVICE float readF16(const void *data, Index at) {
  return f16ToFloat(static_cast<const std::uint16_t *>(data)[at]);
}
SLUICE_DEVICE void writeF16(void *data, Index at, float value) {
  static_cast<std::uint16_t *>(data)[at] = floatToF16(value);
}

/// To an integer, towards zero; a value out of range becomes the nearest limit and NaN becomes 0.
SLUICE_DEVICE Index toInteger(double value, double low, double high, Index lowest, Index highest) {
  return value != value ? 0 : value <= low ? lowest : value >= high ? highest : static_cast<Index>(value);
}

SLUICE_DEVICE double readAny(const View &view, Index at) {
  switch (view.type) {
  case typeF32:
    return static_cast<const float *>(view.data)[at];
  case typeF64:
    return static_cast<const double *>(view.data)[at];
  case typeBf16:
    return readBf16(view.data, at);
  case typeF16:
    return readF16(view.data, at);
  case typeI32:
    return static_cast<const int *>(view.data)[at];
  case typeI64:
    return static_cast<double>(static_cast<const Index *>(view.data)[at]);
  default:
    return static_cast<const unsigned char *>(view.data)[at];
  }
}
SLUICE_DEVICE void writeAny(const View &view, Index at, double value) {
  switch (view.type) {
  case typeF32:
    static_cast<float *>(view.data)[at] = static_cast<float>(value);
    break;
  case typeF64:
    static_cast<double *>(view.data)[at] = value;
    break;
  case typeBf16:
    writeBf16(view.data, at, static_cast<float>(value));
    break;
  case typeF16:
    writeF16(view.data, at, static_cast<float>(value));
    break;
  case typeI32:
    static_cast<int *>(view.data)[at] =
        static_cast<int>(toInteger(value, -2147483648.0, 2147483647.0, -2147483647LL - 1, 2147483647LL));
    break;
  case typeI64:
    static_cast<Index *>(view.data)[at] = toInteger(value, -9223372036854775808.0, 9223372036854775807.0,
                                                    -9223372036854775807LL - 1, 9223372036854775807LL);
    break;
  default:
    static_cast<unsigned char *>(view.data)[at] = static_cast<unsigned char>(toInteger(value, 0, 255, 0, 255));
  }
}
SLUICE_DEVICE Index readInteger(const View &view, Index at) {
  switch (view.type) {
  case typeI32:
    return static_cast<const int *>(view.data)[at];
  case typeI64:
    return static_cast<const Index *>(view.data)[at];
  case typeU8:
    return static_cast<const unsigned char *>(view.data)[at];
  default:
    return toInteger(readAny(view, at), -9223372036854775808.0, 9223372036854775807.0, -9223372036854775807LL - 1,
                     9223372036854775807LL);
  }
}
SLUICE_DEVICE void writeInteger(const View &view, Index at, Index value) {
  switch (view.type) {
  case typeI32:
    static_cast<int *>(view.data)[at] = static_cast<int>(value);
    break;
  case typeI64:
    static_cast<Index *>(view.data)[at] = value;
    break;
  case typeU8:
    static_cast<unsigned char *>(view.data)[at] = static_cast<unsigned char>(value);
    break;
  default:
    writeAny(view, at, static_cast<double>(value));
  }
}
SLUICE_DEVICE bool isFloatType(int type) { return type <= typeF16; }

struct F32 {
  using Real = float;
  SLUICE_DEVICE static float read(const View &view, Index at) { return static_cast<const float *>(view.data)[at]; }
  SLUICE_DEVICE static void write(const View &view, Index at, float value) {
    static_cast<float *>(view.data)[at] = value;
  }
};
struct B16 {
  using Real = float;
  SLUICE_DEVICE static float read(const View &view, Index at) { return readBf16(view.data, at); }
  SLUICE_DEVICE static void write(const View &view, Index at, float value) { writeBf16(view.data, at, value); }
};
struct Mixed {
  using Real = float;
  SLUICE_DEVICE static float read(const View &view, Index at) {
    return view.type == typeF32    ? static_cast<const float *>(view.data)[at]
           : view.type == typeBf16 ? readBf16(view.data, at)
                                   : readF16(view.data, at);
  }
  SLUICE_DEVICE static void write(const View &view, Index at, float value) {
    if (view.type == typeF32)
      static_cast<float *>(view.data)[at] = value;
    else if (view.type == typeBf16)
      writeBf16(view.data, at, value);
    else
      writeF16(view.data, at, value);
  }
};
struct Wide {
  using Real = double;
  SLUICE_DEVICE static double read(const View &view, Index at) { return readAny(view, at); }
  SLUICE_DEVICE static void write(const View &view, Index at, double value) { writeAny(view, at, value); }
};

// Functions by type, so that a float kernel never computes in double by accident.
SLUICE_DEVICE float rootOf(float x) { return sqrtf(x); }
SLUICE_DEVICE double rootOf(double x) { return sqrt(x); }
SLUICE_DEVICE float expOf(float x) { return expf(x); }
SLUICE_DEVICE double expOf(double x) { return exp(x); }
SLUICE_DEVICE float logOf(float x) { return logf(x); }
SLUICE_DEVICE double logOf(double x) { return log(x); }
SLUICE_DEVICE float log1pOf(float x) { return log1pf(x); }
SLUICE_DEVICE double log1pOf(double x) { return log1p(x); }
SLUICE_DEVICE float tanhOf(float x) { return tanhf(x); }
SLUICE_DEVICE double tanhOf(double x) { return tanh(x); }
SLUICE_DEVICE float erfOf(float x) { return erff(x); }
SLUICE_DEVICE double erfOf(double x) { return erf(x); }
SLUICE_DEVICE float erfcOf(float x) { return erfcf(x); }
SLUICE_DEVICE double erfcOf(double x) { return erfc(x); }
SLUICE_DEVICE float sinOf(float x) { return sinf(x); }
SLUICE_DEVICE double sinOf(double x) { return sin(x); }
SLUICE_DEVICE float cosOf(float x) { return cosf(x); }
SLUICE_DEVICE double cosOf(double x) { return cos(x); }
SLUICE_DEVICE float powerOf(float x, float y) { return powf(x, y); }
SLUICE_DEVICE double powerOf(double x, double y) { return pow(x, y); }
SLUICE_DEVICE float sizeOf(float x) { return fabsf(x); }
SLUICE_DEVICE double sizeOf(double x) { return fabs(x); }
#ifdef __CUDACC__
/// 2^x by the hardware: relative error 2^-22, results below 2^-126 are 0 (PTX ISA, ex2.approx.ftz).
SLUICE_DEVICE float powerOfTwo(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
/// 1 / x by the hardware: to one unit of the last place, results below 2^-126 are 0 (PTX ISA, rcp.approx.ftz).
SLUICE_DEVICE float inverseOf(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
#else
inline float powerOfTwo(float x) { return exp2f(x); }
inline float inverseOf(float x) { return 1 / x; }
#endif
SLUICE_DEVICE double inverseOf(double x) { return 1 / x; }
SLUICE_DEVICE float infinityOf(float) { return floatOfBits(0x7f800000u); }
SLUICE_DEVICE double infinityOf(double) { return static_cast<double>(floatOfBits(0x7f800000u)); }
template <typename T> SLUICE_DEVICE bool isFinite(T x) { return x - x == T(0); }
/// As fmax, ignores NaN.
template <typename T> SLUICE_DEVICE T maxOf(T a, T b) { return b != b || a > b ? a : a != a ? b : b; }

struct MaxOf {
  template <typename T> SLUICE_DEVICE T operator()(T a, T b) const { return maxOf(a, b); }
};

/// Offset of the `number`-th index, row-major, of dims [0, dims).
SLUICE_DEVICE Index offsetIn(const View &view, int dims, Index number) {
  Index offset = 0;
  for (int d = dims - 1; d > 0; --d) {
    offset += number % view.extent[d] * view.strides[d];
    number /= view.extent[d];
  }
  // The rest is within the first dim: omitting this division saves a hundred instructions.
  return dims > 0 ? offset + number * view.strides[0] : 0;
}
/// The same over another view's extents: `strides` of an operand that broadcasts over `frame`.
SLUICE_DEVICE Index offsetOver(const Index *strides, const View &frame, Index number) {
  Index offset = 0;
  for (int d = frame.rank - 1; d > 0; --d) {
    offset += number % frame.extent[d] * strides[d];
    number /= frame.extent[d];
  }
  return frame.rank > 0 ? offset + number * strides[0] : 0;
}
SLUICE_DEVICE Index countOf(const View &view, int dims) {
  Index count = 1;
  for (int d = 0; d < dims; ++d)
    count *= view.extent[d];
  return count;
}
SLUICE_DEVICE Index countOf(const View &view) { return countOf(view, view.rank); }

} // namespace sluice::cuda

/// One kernel for each policy: X(symbol, function, arguments).
#define SLUICE_POLICIES(X, name, Args)                                                                                 \
  X(sluice_##name##_f32, name<F32>, Args)                                                                              \
  X(sluice_##name##_bf16, name<B16>, Args)                                                                             \
  X(sluice_##name##_mixed, name<Mixed>, Args)                                                                          \
  X(sluice_##name##_wide, name<Wide>, Args)

#endif // SLUICE_RUNTIME_BASE_CUDA_ELEMENT_H
