//===- Numbers.h - reading and writing elements of any type -------------------===//
//
// Bf16 and F16 are storage only: arithmetic is done in float or double.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_NUMBERS_H
#define SLUICE_RUNTIME_KERNEL_CPU_NUMBERS_H

#include "runtime/base/DType.h"
#include "runtime/base/Half.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

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

/// body.operator()<T>() with the type of the elements of `dtype`.
template <typename Body> inline auto withType(DType dtype, Body body) {
  switch (dtype) {
  case DType::f32:
    return body.template operator()<float>();
  case DType::f64:
    return body.template operator()<double>();
  case DType::bf16:
    return body.template operator()<Bf16>();
  case DType::f16:
    return body.template operator()<F16>();
  case DType::i32:
    return body.template operator()<std::int32_t>();
  case DType::i64:
    return body.template operator()<std::int64_t>();
  default:
    return body.template operator()<std::uint8_t>();
  }
}
/// The same with an unsigned integer of the elements' size.
template <typename Body> inline auto withWord(DType dtype, Body body) {
  switch (dtypeBytes(dtype)) {
  case 1:
    return body.template operator()<std::uint8_t>();
  case 2:
    return body.template operator()<std::uint16_t>();
  case 4:
    return body.template operator()<std::uint32_t>();
  default:
    return body.template operator()<std::uint64_t>();
  }
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

/// Element `index` of an array of `dtype`.
inline double loadNumber(const void *data, DType dtype, std::int64_t index) {
  return withType(dtype, [=]<typename T>() { return static_cast<double>(static_cast<const T *>(data)[index]); });
}

inline void storeNumber(void *data, DType dtype, std::int64_t index, double value) {
  withType(dtype, [=]<typename T>() {
    T &element = static_cast<T *>(data)[index];
    if constexpr (std::is_integral_v<T>)
      element = toInteger<T>(value);
    else if constexpr (std::is_floating_point_v<T>)
      element = static_cast<T>(value);
    else
      element = T(static_cast<float>(value));
  });
}

inline std::int64_t loadInteger(const void *data, DType dtype, std::int64_t index) {
  return withType(dtype, [=]<typename T>() -> std::int64_t {
    if constexpr (std::is_integral_v<T>)
      return static_cast<const T *>(data)[index];
    else
      return toInteger<std::int64_t>(static_cast<const T *>(data)[index]);
  });
}

inline void storeInteger(void *data, DType dtype, std::int64_t index, std::int64_t value) {
  if (isFloat(dtype))
    return storeNumber(data, dtype, index, static_cast<double>(value));
  withType(dtype, [=]<typename T>() {
    if constexpr (std::is_integral_v<T>)
      static_cast<T *>(data)[index] = static_cast<T>(value);
  });
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_NUMBERS_H
