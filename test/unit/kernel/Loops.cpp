//===- Loops.cpp - the elementary functions of every instruction set ----------===//
//
// Over wide ranges against f64, for each instruction set of this machine; others are not tested.
// The tested ones are printed.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

#include "runtime/kernel/cpu/vector/Loops.h"

using namespace sluice;
using namespace sluice::test;

namespace {

template <typename Body> void forEachIsa(Body body) {
  int seen = 0;
  for (const char *isa : {"baseline", "avx2", "avx512"})
    if (const cpu::Loops *loops = cpu::loopsFor(isa)) {
      body(*loops);
      testing::Test::RecordProperty(isa, "tested");
      ++seen;
    }
  EXPECT_GE(seen, 1);
}

/// Largest error of y from want(x), relative with the absolute allowance, as a multiple of the allowance.
template <typename Function, typename Want>
void within(Function function, Want want, double low, double high, double relative, double absolute,
            const std::string &what) {
  constexpr int count = 100003;
  std::vector<float> x(count), y(count);
  for (int i = 0; i < count; ++i)
    x[static_cast<std::size_t>(i)] = static_cast<float>(low + (high - low) * i / (count - 1));
  function(x.data(), y.data(), count);
  double worst = 0, at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double exact = want(static_cast<double>(x[i]));
    double error = std::fabs(y[i] - exact) / (relative * std::fabs(exact) + absolute);
    if (!(error <= worst)) {
      worst = error;
      at = x[i];
    }
  }
  EXPECT_LE(worst, 1) << what << " is worst at " << at;
}

TEST(Loops, ElementaryFunctions) {
  forEachIsa([](const cpu::Loops &l) {
    std::string isa(l.isa);
    auto unary = [&l](cpu::UnaryLoop op) {
      return [&l, op](const float *x, float *y, std::int64_t count) { l.f32.unary(op, x, y, count, 1); };
    };
    double tiny = 1.5e-45;
    within(unary(cpu::UnaryLoop::exp), [](double x) { return std::exp(x); }, -87, 88.7, 1.5e-7, tiny, "exp " + isa);
    within(
        unary(cpu::UnaryLoop::exp), [](double x) { return std::exp(x); }, -110, -87, 1.5e-7, tiny, "small exp " + isa);
    within(unary(cpu::UnaryLoop::tanh), [](double x) { return std::tanh(x); }, -12, 12, 2.5e-7, 0, "tanh " + isa);
    within(
        unary(cpu::UnaryLoop::tanh), [](double x) { return std::tanh(x); }, -0.01, 0.01, 2e-7, tiny,
        "small tanh " + isa);
    within(unary(cpu::UnaryLoop::erf), [](double x) { return std::erf(x); }, -6, 6, 2e-7, 0, "erf " + isa);
    within(
        unary(cpu::UnaryLoop::erf), [](double x) { return std::erf(x); }, -0.01, 0.01, 2e-7, tiny, "small erf " + isa);
  });
}

TEST(Loops, Logarithm) {
  forEachIsa([](const cpu::Loops &l) {
    auto log = [&l](const float *x, float *y, std::int64_t count) { l.f32.unary(cpu::UnaryLoop::log, x, y, count, 1); };
    for (double high : {1e-40, 1e-30, 0.9, 1.1, 2.0, 100.0, 3e38})
      within(log, [](double x) { return std::log(x); }, high * 1e-4, high, 2e-7, 1.5e-45, "log " + std::string(l.isa));
    float inf = std::numeric_limits<float>::infinity();
    float x[] = {0, -0.f, -1, inf, -inf, NAN, 1}, y[7];
    log(x, y, 7);
    EXPECT_EQ(y[0], -inf);
    EXPECT_EQ(y[1], -inf);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[3], inf);
    EXPECT_TRUE(std::isnan(y[4]) && std::isnan(y[5]));
    EXPECT_EQ(y[6], 0);
  });
}

TEST(Loops, Gelu) {
  forEachIsa([](const cpu::Loops &l) {
    for (bool tanhForm : {false, true}) {
      auto gate = [=](double x) {
        return tanhForm ? 1 / (1 + std::exp(-2 * 0.7978845608028654 * (x + 0.044715 * x * x * x)))
                        : 0.5 * std::erfc(-x * 0.7071067811865476);
      };
      within([&](const float *x, float *y, std::int64_t count) { l.f32.gelu(x, y, count, tanhForm); },
             [&](double x) { return x * gate(x); }, -12, 12, 4e-7, 5e-8, "gelu " + std::string(l.isa));
      within([&](const float *x, float *y, std::int64_t count) { l.f32.gelu(x, y, count, tanhForm); },
             [&](double x) { return x * gate(x); }, -1e-3, 1e-3, 4e-7, 1.5e-45, "small gelu " + std::string(l.isa));
    }
  });
}

TEST(Loops, ExponentialOfSpecialNumbers) {
  forEachIsa([](const cpu::Loops &l) {
    float inf = std::numeric_limits<float>::infinity();
    float x[] = {inf, -inf, NAN, 0, 1000, -1000}, y[6];
    l.f32.unary(cpu::UnaryLoop::exp, x, y, 6, 1);
    EXPECT_EQ(y[0], inf);
    EXPECT_EQ(y[1], 0);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[3], 1);
    EXPECT_EQ(y[4], inf);
    EXPECT_EQ(y[5], 0);
  });
}

TEST(Loops, RoundingToBf16) {
  forEachIsa([](const cpu::Loops &l) {
    std::vector<float> x;
    for (std::uint32_t high : {0x0000u, 0x0001u, 0x3f80u, 0x3f81u, 0x7f7fu, 0x7f80u, 0xff80u, 0x7fc0u, 0xbf81u})
      for (std::uint32_t low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
        x.push_back(std::bit_cast<float>(high << 16 | low));
    std::vector<cpu::Bf16> y(x.size());
    l.bf16.narrow(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(y[i].bits, cpu::Bf16(x[i]).bits) << x[i];
  });
}

TEST(Loops, TileProduct) {
  forEachIsa([](const cpu::Loops &l) {
    std::int64_t k = 9, n = l.panel + 3, padded = 2 * l.panel;
    for (std::int64_t m = 1; m <= 13; ++m)
      for (bool accumulate : {false, true}) {
        std::vector<float> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * padded));
        std::vector<float> c(static_cast<std::size_t>(m * padded), 1);
        for (std::size_t i = 0; i < a.size(); ++i)
          a[i] = static_cast<float>(i % 7) - 3;
        for (std::size_t i = 0; i < b.size(); ++i)
          b[i] = static_cast<float>(i % 5) - 2;
        l.tileProduct({m, n, k, a.data(), k, 1, b.data(), k * l.panel, c.data(), padded, accumulate});
        for (std::int64_t row = 0; row < m; ++row)
          for (std::int64_t column = 0; column < n; ++column) {
            float want = accumulate;
            for (std::int64_t i = 0; i < k; ++i)
              want += a[static_cast<std::size_t>(row * k + i)] *
                      b[static_cast<std::size_t>(column / l.panel * k * l.panel + i * l.panel + column % l.panel)];
            EXPECT_EQ(c[static_cast<std::size_t>(row * padded + column)], want);
          }
      }
  });
}

} // namespace
