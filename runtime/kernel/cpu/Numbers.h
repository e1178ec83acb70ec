//===- Numbers.h - reading and writing elements of any type -------------------===//
//
// Bf16 and F16 are storage only: arithmetic is done in float or double.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_NUMBERS_H
#define SLUICE_RUNTIME_KERNEL_CPU_NUMBERS_H

#include "runtime/base/DType.h"
#include "runtime/base/Half.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sluice::cpu {

struct Bf16 {
  std::uint16_t bits;
  Bf16() = default;
  explicit Bf16(float value) : bits(floatToBf16(value)) {}
  operator float() const { return bf16ToFloat(bits); }
};

struct F16 {
  std::uint16_t bits;
  F16() = default;
  explicit F16(float value) : bits(floatToF16(value)) {}
  operator float() const { return f16ToFloat(bits); }
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

/// To an integer, towards zero; a value out of range becomes the nearest limit, NaN becomes 0.
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
