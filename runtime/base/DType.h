//===- DType.h - element types -----------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_DTYPE_H
#define SLUICE_RUNTIME_BASE_DTYPE_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice {

/// Element type of a tensor. The values are those of DType in runtime/plan/plan.fbs.
enum class DType : std::uint8_t { f32, f64, bf16, f16, i32, i64, u8 };

inline constexpr std::size_t dtypeCount = 7;

/// Bytes of one element.
constexpr std::size_t dtypeBytes(DType dtype) {
  constexpr std::size_t bytes[dtypeCount] = {4, 8, 2, 2, 4, 8, 1};
  return bytes[static_cast<std::size_t>(dtype)];
}

/// "f32", "bf16", ...
constexpr std::string_view dtypeName(DType dtype) {
  constexpr std::string_view names[dtypeCount] = {"f32", "f64", "bf16", "f16", "i32", "i64", "u8"};
  return names[static_cast<std::size_t>(dtype)];
}

constexpr bool isFloat(DType dtype) { return dtype <= DType::f16; }

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_DTYPE_H
