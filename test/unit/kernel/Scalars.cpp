//===- Scalars.cpp - counts, guards and indices against their definitions ---------===//
#include "Harness.h"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr KernelFlavour bothFlavours[] = {KernelFlavour::fast, KernelFlavour::reference};

TEST(Scalars, IotaIsTheIndexAlongItsDim) {
  for (KernelFlavour flavour : bothFlavours)
    for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32, DType::i64})
      for (std::int64_t dim : {0, 1}) {
        Tensor y(dtype, {3, 4}, Layout::padded);
        mustRun({"iota", flavour, 1, {integer("dim", dim)}}, {}, {&y});
        for (std::int64_t i = 0; i < 12; ++i)
          EXPECT_EQ(y.at(i), static_cast<double>(dim ? i % 4 : i / 4)) << dtypeName(dtype) << " dim " << dim;
      }
}

// eq, ne, lt, le, gt, ge; of a comparison with NaN only ne holds.
TEST(Scalars, CompareIsOneOrZero) {
  const double nan = std::nan("");
  for (KernelFlavour flavour : bothFlavours)
    for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64}) {
      bool isNumber = dtype == DType::i32 || dtype == DType::i64;
      Tensor a(dtype, {4}), b(dtype, {4});
      a.fill({1, 2, 3, isNumber ? 5 : nan}), b.fill({2, 2, 2, 5});
      for (std::int64_t predicate = 0; predicate < 6; ++predicate) {
        Tensor y(DType::u8, {4});
        mustRun({"compare", flavour, 1, {integer("predicate", predicate)}}, {&a, &b}, {&y});
        for (int i = 0; i < 4; ++i) {
          double l = a.at(i), r = b.at(i);
          const bool holds[] = {l == r, l != r, l<r, l <= r, l> r, l >= r};
          EXPECT_EQ(y.at(i), holds[predicate] ? 1 : 0) << dtypeName(dtype) << " predicate " << predicate << " of " << l;
        }
      }
    }
}

TEST(Scalars, BooleanOfANumberIsOneUnlessItIsZero) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (KernelFlavour flavour : bothFlavours)
    for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64})
      for (Layout layout : {Layout::dense, Layout::padded}) {
        Tensor x(dtype, {2, 4}, layout), y(DType::u8, {2, 4}, layout);
        if (isFloat(dtype))
          x.fill({0, -0.0, 0.5, -0.25, nan, inf, 300, 1});
        else
          x.fill({0, 0, 2, -1, 256, 512, 65536, 1});
        mustRun({"cast", flavour}, {&x}, {&y});
        EXPECT_EQ(y.values(), std::vector<double>({0, 0, 1, 1, 1, 1, 1, 1})) << dtypeName(dtype);
      }
}

TEST(Scalars, CountUpAddsOne) {
  for (KernelFlavour flavour : bothFlavours) {
    Tensor old = scalar(DType::i64, 41), next(DType::i64, {});
    mustRun({"count_up", flavour}, {&old}, {&next});
    EXPECT_EQ(next.at(0), 42);
  }
}

TEST(Scalars, AllFiniteIsZeroForANonFiniteElement) {
  const double inf = std::numeric_limits<double>::infinity();
  for (KernelFlavour flavour : bothFlavours)
    for (DType dtype : {DType::f32, DType::f64})
      for (double odd : {1.0, 0.0, -3e30, inf, -inf, std::nan("")}) {
        Tensor a = scalar(dtype, 2), b = scalar(dtype, odd), guard(DType::u8, {});
        mustRun({"all_finite", flavour}, {&a, &b}, {&guard});
        EXPECT_EQ(guard.at(0), std::isfinite(odd) ? 1 : 0) << odd;
        mustRun({"all_finite", flavour}, {&b, &a}, {&guard});
        EXPECT_EQ(guard.at(0), std::isfinite(odd) ? 1 : 0) << odd;
      }
}

} // namespace
