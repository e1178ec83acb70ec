//===- Dropout.cpp - masks by counter -------------------------------------------===//
#include "Harness.h"

#include "runtime/kernel/cpu/Philox.h"

using namespace sluice;
using namespace sluice::test;

namespace {

/// y of x filled with ones, by index in the step.
Tensor drop(Tensor y, double rate, std::int64_t row = 0, double step = 1, std::int64_t key = 3, double seed = 5,
            KernelFlavour flavour = KernelFlavour::fast, int threads = 1) {
  Tensor x(y.operand.dtype, {});
  x = y;
  x.fill(std::vector<double>(static_cast<std::size_t>(y.size()), 1));
  Tensor seedAt = scalar(DType::i64, seed), stepAt = scalar(DType::i64, step),
         rowAt = scalar(DType::i64, static_cast<double>(row));
  mustRun({"dropout", flavour, threads, {number("rate", rate), integer("key", key)}}, {&x, &seedAt, &stepAt, &rowAt},
          {&y});
  return y;
}

TEST(Dropout, MatchesTheFormula) {
  Tensor y = drop(Tensor(DType::f64, {3, 5}), 0.25, 7, 11, 3, 5);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    std::uint64_t index = 7 * 5 + static_cast<std::uint64_t>(i);
    double uniform = cpu::philoxUniform(cpu::philox(5, 11ull << 32 | 3, index / 4), static_cast<int>(index % 4));
    EXPECT_EQ(y.at(i), uniform >= 0.25 ? 1 / 0.75 : 0) << i;
  }
}

TEST(Dropout, FastFormsAgreeToTheBit) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f64, DType::f16})
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (std::int64_t row : {0, 1, 1000000}) {
        Tensor want = drop(Tensor(dtype, {7, 3, 61}, layout), 0.1, row, 2, 1, 9, KernelFlavour::reference);
        Tensor got = drop(Tensor(dtype, {7, 3, 61}, layout), 0.1, row, 2, 1, 9);
        EXPECT_EQ(got.values(), want.values());
        EXPECT_EQ(drop(Tensor(dtype, {7, 3, 61}, layout), 0.1, row, 2, 1, 9, KernelFlavour::fast, 2).values(),
                  want.values());
      }
}

// Rows of a step for other ranks or micro-batches, and columns of other ranks.
TEST(Dropout, AnySplitGivesTheSameMask) {
  Tensor whole = drop(Tensor(DType::f32, {8, 6, 5}), 0.5, 16);
  for (std::int64_t begin = 0; begin < 8; begin += 2) {
    Tensor part = drop(Tensor(DType::f32, {2, 6, 5}), 0.5, 16 + begin);
    for (std::int64_t i = 0; i < part.size(); ++i)
      EXPECT_EQ(part.at(i), whole.at(begin * 30 + i));
  }
  for (std::int64_t begin = 0; begin < 6; begin += 3) {
    Tensor shard(DType::f32, {8, 3, 5});
    shard.operand.global = whole.operand.global;
    shard.operand.origin[1] = begin;
    shard = drop(shard, 0.5, 16);
    for (std::int64_t row = 0; row < 8; ++row)
      for (std::int64_t i = 0; i < 15; ++i)
        EXPECT_EQ(shard.at(row * 15 + i), whole.at(row * 30 + begin * 5 + i));
  }
}

TEST(Dropout, RatesExpectationAndIndependence) {
  constexpr std::int64_t count = 200000;
  for (double rate : {0.0, 0.1, 0.5, 0.9}) {
    Tensor y = drop(Tensor(DType::f32, {count}), rate);
    double dropped = 0, mean = 0, pairs = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      dropped += y.at(i) == 0;
      mean += y.at(i) / count;
      pairs += y.at(i) == 0 && y.at((i + 1) % count) == 0;
    }
    double deviation = std::sqrt(rate * (1 - rate) * count);
    EXPECT_NEAR(dropped, rate * count, 4 * deviation + 1e-9) << rate;
    EXPECT_NEAR(mean, 1, 4 * deviation / count / (1 - rate) + 1e-5) << rate;
    // Neighbours are independent.
    EXPECT_NEAR(pairs, rate * rate * count, 8 * deviation + 1e-9) << rate;
  }
  auto draw = [](std::int64_t row, double step, std::int64_t key, double seed) {
    return drop(Tensor(DType::f32, {4, 100}), 0.5, row, step, key, seed).values();
  };
  std::vector<double> base = draw(0, 1, 3, 5);
  EXPECT_NE(base, draw(4, 1, 3, 5));
  EXPECT_NE(base, draw(0, 2, 3, 5));
  EXPECT_NE(base, draw(0, 1, 4, 5));
  EXPECT_NE(base, draw(0, 1, 3, 6));
}

TEST(Dropout, PaddingIsNotWritten) {
  Tensor shard(DType::f32, {4, 5});
  shard.operand.extent[0] = 2;
  // The harness checks that the pattern beyond the extent is unchanged.
  drop(shard, 0.5);
}

TEST(Dropout, RefusesBadOperands) {
  Tensor x(DType::f32, {2}), y(DType::f32, {2}), i = scalar(DType::i64, 0), single = scalar(DType::i32, 0);
  auto refuses = [&](std::vector<Tensor *> inputs, double rate, const std::string &text) {
    Status status = tryRun({"dropout", KernelFlavour::fast, 1, {number("rate", rate)}}, inputs, {&y});
    EXPECT_FALSE(status.isOk());
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  };
  refuses({&x, &i, &i, &i}, 1, "rate, expected at least 0 and less than 1 but got 1");
  refuses({&x, &single, &i, &i}, 0.5, "expected i64 but got i32");
  refuses({&x, &i, &i}, 0.5, "inputs, expected 4 but got 3");
}

} // namespace
