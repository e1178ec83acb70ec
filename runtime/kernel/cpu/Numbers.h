//===- Numbers.h - reading and writing elements of any type -------------------===//
//
// Bf16 and F16 are storage only: arithmetic is done in float or double. Rounding is to nearest, ties to even; NaN stays
// NaN, quiet, with what fits of its payload, and overflow becomes infinity: F16's conversions give the bits of the
// processor's own (F16C).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_NUMBERS_H
#define SLUICE_RUNTIME_KERNEL_CPU_NUMBERS_H

#include "runtime/base/DType.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sluice::cpu {

struct Bf16 {
  std::uint16_t bits;
  Bf16() = default;
  explicit Bf16(float value) {
    std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u)
      bits = static_cast<std::uint16_t>((word >> 16) | 0x40u);
    else
      bits = static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

struct F16 {
  std::uint16_t bits;
  F16() = default;
  explicit F16(float value) {
    std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    std::uint32_t sign = (word >> 16) & 0x8000u, magnitude = word & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
      bits = static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
    else if (magnitude >= 0x477ff000u) // rounds to 65520 or more
      bits = static_cast<std::uint16_t>(sign | 0x7c00u);
    else if (magnitude < 0x38800000u) // a subnormal half: let the adder round, its unit in the last place is 2^-24
      bits = static_cast<std::uint16_t>(
          sign | (std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u));
    else
      bits = static_cast<std::uint16_t>(
          sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13));
  }
  operator float() const {
    std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    if (magnitude > 0x7c00u)
      return std::bit_cast<float>(sign | 0x7fc00000u | ((magnitude & 0x3ffu) << 13));
    if (magnitude == 0x7c00u)
      return std::bit_cast<float>(sign | 0x7f800000u);
    if (magnitude >= 0x400u)
      return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
    float value = static_cast<float>(magnitude) * 0x1p-24f;
    return sign ? -value : value;
  }
};

/// Element `index` of an array of `dtype`.
inline double loadNumber(const void *data, DType dtype, std::int64_t index) {
  switch (dtype) {
  case DType::f32:
    return static_cast<const float *>(data)[index];
  case DType::f64:
    return static_cast<const double *>(data)[index];
  case DType::bf16:
    return static_cast<float>(static_cast<const Bf16 *>(data)[index]);
  case DType::f16:
    return static_cast<float>(static_cast<const F16 *>(data)[index]);
  case DType::i32:
    return static_cast<const std::int32_t *>(data)[index];
  case DType::i64:
    return static_cast<double>(static_cast<const std::int64_t *>(data)[index]);
  case DType::u8:
    return static_cast<const std::uint8_t *>(data)[index];
  }
  return 0;
}

/// To an integer, towards zero; what does not fit takes the nearest limit and NaN becomes 0.
template <typename T> T toInteger(double value) {
  if (std::isnan(value))
    return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  if (value >= static_cast<double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

inline void storeNumber(void *data, DType dtype, std::int64_t index, double value) {
  switch (dtype) {
  case DType::f32:
    static_cast<float *>(data)[index] = static_cast<float>(value);
    break;
  case DType::f64:
    static_cast<double *>(data)[index] = value;
    break;
  case DType::bf16:
    static_cast<Bf16 *>(data)[index] = Bf16(static_cast<float>(value));
    break;
  case DType::f16:
    static_cast<F16 *>(data)[index] = F16(static_cast<float>(value));
    break;
  case DType::i32:
    static_cast<std::int32_t *>(data)[index] = toInteger<std::int32_t>(value);
    break;
  case DType::i64:
    static_cast<std::int64_t *>(data)[index] = toInteger<std::int64_t>(value);
    break;
  case DType::u8:
    static_cast<std::uint8_t *>(data)[index] = toInteger<std::uint8_t>(value);
    break;
  }
}

inline std::int64_t loadInteger(const void *data, DType dtype, std::int64_t index) {
  switch (dtype) {
  case DType::i32:
    return static_cast<const std::int32_t *>(data)[index];
  case DType::i64:
    return static_cast<const std::int64_t *>(data)[index];
  case DType::u8:
    return static_cast<const std::uint8_t *>(data)[index];
  default:
    return toInteger<std::int64_t>(loadNumber(data, dtype, index));
  }
}

inline void storeInteger(void *data, DType dtype, std::int64_t index, std::int64_t value) {
  if (dtype == DType::i64)
    static_cast<std::int64_t *>(data)[index] = value;
  else if (dtype == DType::i32)
    static_cast<std::int32_t *>(data)[index] = static_cast<std::int32_t>(value);
  else if (dtype == DType::u8)
    static_cast<std::uint8_t *>(data)[index] = static_cast<std::uint8_t>(value);
  else
    storeNumber(data, dtype, index, static_cast<double>(value));
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_NUMBERS_H
