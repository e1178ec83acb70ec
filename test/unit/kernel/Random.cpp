//===- Random.cpp - random numbers by counter ---------------------------------===//
#include "Harness.h"

#include "runtime/kernel/cpu/Philox.h"

using namespace sluice;
using namespace sluice::test;

namespace {

// The known answers of Random123 for philox4x32-10.
TEST(Random, PhiloxKnownAnswers) {
  EXPECT_EQ(cpu::philox(0, 0, 0), (cpu::PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(cpu::philox(~0ull, ~0ull, ~0ull), (cpu::PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(cpu::philox(0x299f31d0a4093822ull, 0x0370734413198a2eull, 0x85a308d3243f6a88ull),
            (cpu::PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

Tensor draw(const std::string &kernel, Tensor tensor, double seed, std::int64_t key) {
  Tensor seedTensor = scalar(DType::i64, seed);
  mustRun({kernel, {}, 1, {integer("key", key)}}, {&seedTensor}, {&tensor});
  return tensor;
}

TEST(Random, AnyShardingGivesTheSameTensor) {
  for (const char *kernel : {"random_normal", "random_uniform"}) {
    Tensor whole = draw(kernel, Tensor(DType::f32, {10, 7}), 5, 11);
    for (int dim : {0, 1})
      for (std::int64_t begin = 0, end; begin < whole.operand.extent[dim]; begin = end) {
        end = std::min(begin + 3, whole.operand.extent[dim]);
        Shape shape = {10, 7};
        shape[static_cast<std::size_t>(dim)] = end - begin;
        Tensor shard(DType::f32, shape, Layout::padded);
        shard.operand.global = whole.operand.global;
        shard.operand.origin[dim] = begin;
        shard = draw(kernel, shard, 5, 11);
        for (std::int64_t i = 0; i < shard.size(); ++i) {
          std::int64_t row = i / shape[1] + (dim == 0 ? begin : 0), column = i % shape[1] + (dim == 1 ? begin : 0);
          EXPECT_EQ(shard.at(i), whole.at(row * 7 + column));
        }
      }
  }
}

/// Numbers of a step, by index in the step.
Tensor drawStep(const std::string &kernel, Tensor tensor, std::int64_t row, double step = 1, std::int64_t key = 4,
                KernelFlavour flavour = KernelFlavour::fast) {
  Tensor seed = scalar(DType::i64, 5), stepAt = scalar(DType::i64, step),
         rowAt = scalar(DType::i64, static_cast<double>(row));
  mustRun({kernel, flavour, 1, {integer("key", key)}}, {&seed, &stepAt, &rowAt}, {&tensor});
  return tensor;
}

TEST(Random, NumbersOfAStep) {
  for (const char *kernel : {"random_normal", "random_uniform"}) {
    const Tensor whole = drawStep(kernel, Tensor(DType::f64, {8, 3, 5}), 16);
    EXPECT_EQ(whole.values(),
              drawStep(kernel, Tensor(DType::f64, {8, 3, 5}), 16, 1, 4, KernelFlavour::reference).values());
    // Rows of other ranks and micro-batches, and columns of other ranks.
    for (std::int64_t begin = 0; begin < 8; begin += 2) {
      const Tensor part = drawStep(kernel, Tensor(DType::f64, {2, 3, 5}), 16 + begin);
      for (std::int64_t i = 0; i < part.size(); ++i)
        EXPECT_EQ(part.at(i), whole.at(begin * 15 + i));
    }
    Tensor shard(DType::f64, {8, 1, 5});
    shard.operand.global = whole.operand.global;
    shard.operand.origin[1] = 2;
    shard = drawStep(kernel, shard, 16);
    for (std::int64_t i = 0; i < shard.size(); ++i)
      EXPECT_EQ(shard.at(i), whole.at(i / 5 * 15 + 10 + i % 5));
    // Other steps and keys, and the initial values with the key, are different.
    for (const Tensor &other :
         {drawStep(kernel, Tensor(DType::f64, {8, 3, 5}), 16, 2),
          drawStep(kernel, Tensor(DType::f64, {8, 3, 5}), 16, 1, 5), draw(kernel, Tensor(DType::f64, {8, 3, 5}), 5, 4)})
      EXPECT_NE(whole.values(), other.values());
  }
  const Tensor uniform = drawStep("random_uniform", Tensor(DType::f64, {3, 5}), 7, 11);
  for (std::int64_t i = 0; i < uniform.size(); ++i) {
    const std::uint64_t index = 7 * 5 + static_cast<std::uint64_t>(i);
    EXPECT_EQ(uniform.at(i),
              cpu::philoxUniform(cpu::philox(5, 11ull << 32 | 4, index / 4), static_cast<int>(index % 4)));
  }
}

TEST(Random, PaddingIsNotDrawn) {
  Tensor shard(DType::f32, {4, 5});
  shard.operand.extent[0] = 2;
  shard.operand.global[0] = 10;
  shard.operand.origin[0] = 8;
  // The harness checks that the pattern beyond the extent is unchanged.
  draw("random_normal", shard, 1, 1);
}

TEST(Random, MomentsAndIndependence) {
  Tensor normal = draw("random_normal", Tensor(DType::f32, {100000}), 3, 4);
  Tensor uniform = draw("random_uniform", Tensor(DType::f32, {100000}), 3, 4);
  double mean = 0, square = 0, mid = 0;
  for (std::int64_t i = 0; i < normal.size(); ++i) {
    mean += normal.at(i) / 1e5;
    square += normal.at(i) * normal.at(i) / 1e5;
    mid += uniform.at(i) / 1e5;
    ASSERT_GE(uniform.at(i), 0);
    ASSERT_LT(uniform.at(i), 1);
  }
  EXPECT_NEAR(mean, 0, 0.01);
  EXPECT_NEAR(square, 1, 0.02);
  EXPECT_NEAR(mid, 0.5, 0.005);
  EXPECT_NE(normal.values(), draw("random_normal", Tensor(DType::f32, {100000}), 3, 5).values());
  EXPECT_NE(normal.values(), draw("random_normal", Tensor(DType::f32, {100000}), 4, 4).values());
}

} // namespace
