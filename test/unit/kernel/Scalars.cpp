//===- Scalars.cpp - counts, guards and indices against their definitions ---------===//
#include "Harness.h"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr KernelFlavour flavours[] = {KernelFlavour::fast, KernelFlavour::reference};

TEST(Scalars, IotaIsTheIndexAlongItsDim) {
  for (KernelFlavour flavour : flavours)
    for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32, DType::i64})
      for (std::int64_t dim : {0, 1}) {
        Tensor y(dtype, {3, 4}, Layout::padded);
        mustRun({"iota", flavour, 1, {integer("dim", dim)}}, {}, {&y});
        for (std::int64_t i = 0; i < 12; ++i)
          EXPECT_EQ(y.at(i), static_cast<double>(dim ? i % 4 : i / 4)) << dtypeName(dtype) << " dim " << dim;
      }
}

TEST(Scalars, CountUpAddsOne) {
  for (KernelFlavour flavour : flavours) {
    Tensor old = scalar(DType::i64, 41), next(DType::i64, {});
    mustRun({"count_up", flavour}, {&old}, {&next});
    EXPECT_EQ(next.at(0), 42);
  }
}

TEST(Scalars, AllFiniteIsZeroForOneThatIsNot) {
  const double inf = std::numeric_limits<double>::infinity();
  for (KernelFlavour flavour : flavours)
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
