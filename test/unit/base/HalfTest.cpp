//===- HalfTest.cpp - conversions of half-width floats by bits ----------------------===//
#include "runtime/base/Half.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>

namespace sluice {
namespace {

// Tests every f16: its value by the definition of the format, and the conversion back from f32.
TEST(Half, EveryF16RoundTrips) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const int exponent = (half >> 10) & 31, mantissa = half & 1023;
    const float value = f16ToFloat(half);
    if (exponent == 31 && mantissa != 0) {
      // Quiet, with its sign and payload.
      ASSERT_EQ(std::bit_cast<std::uint32_t>(value),
                (bits & 0x8000u) << 16 | 0x7fc00000u | static_cast<std::uint32_t>(mantissa) << 13);
      ASSERT_EQ(floatToF16(value), bits | 0x200u);
      continue;
    }
    float want = exponent == 31  ? INFINITY
                 : exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                 : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
    if (half & 0x8000)
      want = -want;
    ASSERT_EQ(value, want) << bits;
    ASSERT_EQ(floatToF16(value), half) << bits;
  }
}

// Tests that f32 between two f16 rounds to the nearer one, and a tie to the even one.
TEST(Half, F16RoundsToNearestEven) {
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits), high = static_cast<std::uint16_t>(bits + 1);
    const float a = f16ToFloat(low), b = f16ToFloat(high), middle = (a + b) / 2;
    ASSERT_EQ(floatToF16(middle), bits % 2 == 0 ? low : high) << bits;
    ASSERT_EQ(floatToF16(std::nextafter(middle, 0.0f)), low) << bits;
    ASSERT_EQ(floatToF16(std::nextafter(middle, INFINITY)), high) << bits;
    ASSERT_EQ(floatToF16(-middle), (bits % 2 == 0 ? low : high) | 0x8000);
  }
  EXPECT_EQ(floatToF16(65519.996f), 0x7bff);
  EXPECT_EQ(floatToF16(65520.0f), 0x7c00);
  EXPECT_EQ(floatToF16(1e30f), 0x7c00);
  EXPECT_EQ(floatToF16(-INFINITY), 0xfc00);
}

// Tests every bf16, and that f32 between two of them rounds to the nearer one, a tie to the even one.
TEST(Half, Bf16RoundsToNearestEven) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = bf16ToFloat(half);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(bf16ToFloat(floatToBf16(value))));
      continue;
    }
    ASSERT_EQ(floatToBf16(value), half);
    if (std::isinf(value))
      continue;
    const auto upper = static_cast<std::uint16_t>(bits + 1);
    const std::uint32_t tie = bits << 16 | 0x8000;
    ASSERT_EQ(floatToBf16(std::bit_cast<float>(tie)), bits % 2 == 0 ? half : upper);
    ASSERT_EQ(floatToBf16(std::bit_cast<float>(tie - 1)), half);
    ASSERT_EQ(floatToBf16(std::bit_cast<float>(tie + 1)), upper);
  }
  // A NaN whose upper bits are those of infinity must not become infinity.
  EXPECT_EQ(floatToF16(std::bit_cast<float>(0xff800001u)), 0xfe00);
  EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(std::bit_cast<float>(0x7f800001u)))));
}

} // namespace
} // namespace sluice
