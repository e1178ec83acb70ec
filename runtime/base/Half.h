//===- Half.h - bf16 and f16 to f32 and back ------------------------------------===//
//
// Rounds to nearest, ties to even; overflow becomes infinity. NaN stays NaN: f16 conversions make it quiet and keep the
// payload bits that fit, as the processor's own instructions do (F16C); bf16 to f32 keeps all bits. Integer arithmetic
// and one exact product or sum, so results do not depend on the instruction set. Host and device code use the same
// functions.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_HALF_H
#define SLUICE_RUNTIME_BASE_HALF_H

#include <cstdint>

#ifdef __CUDACC__
#define SLUICE_HALF_FUNCTION __host__ __device__ inline
#else
#define SLUICE_HALF_FUNCTION inline
#endif

namespace sluice {

SLUICE_HALF_FUNCTION float bf16ToFloat(std::uint16_t half) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(half) << 16);
}

SLUICE_HALF_FUNCTION std::uint16_t floatToBf16(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40u;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

SLUICE_HALF_FUNCTION float f16ToFloat(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16, magnitude = half & 0x7fffu;
  const std::uint32_t moved = magnitude << 13;
  // The unit in the last place of a subnormal number is 2^-24.
  const auto subnormal =
      __builtin_bit_cast(std::uint32_t, static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
  const std::uint32_t special = moved | (magnitude > 0x7c00u ? 0x7fc00000u : 0x7f800000u);
  const std::uint32_t bits = magnitude < 0x400u ? subnormal : magnitude < 0x7c00u ? moved + 0x38000000u : special;
  return __builtin_bit_cast(float, sign | bits);
}

SLUICE_HALF_FUNCTION std::uint16_t floatToF16(float value) {
  const auto word = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t sign = (word >> 16) & 0x8000u, magnitude = word & 0x7fffffffu;
  std::uint32_t bits = 0;
  if (magnitude > 0x7f800000u)
    bits = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  else if (magnitude >= 0x477ff000u) // 65520 and more round to infinity
    bits = 0x7c00u;
  else if (magnitude < 0x38800000u) // below 2^-14: adding 0.5 leaves the subnormal's bits at the end of the mantissa
    bits = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, magnitude) + 0.5f) - 0x3f000000u;
  else
    bits = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  return static_cast<std::uint16_t>(sign | bits);
}

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_HALF_H
