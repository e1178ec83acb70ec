//===- Movement.cpp - slices, concatenation, selection, broadcast and random tensors ---===//
//
// Small cases with their results written out, and the fast kernels against their references over layouts and types.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr KernelFlavour flavours[] = {KernelFlavour::fast, KernelFlavour::reference};
constexpr Layout layouts[] = {Layout::dense, Layout::padded, Layout::permuted};
constexpr DType types[] = {DType::f32, DType::bf16, DType::f64, DType::f16, DType::i32, DType::i64, DType::u8};

/// Runs both flavours, the fast one on one and on two threads, and expects the same bytes of each.
void same(Run run, const std::vector<Tensor> &inputs, const Tensor &output) {
  std::vector<Tensor> results;
  for (KernelFlavour flavour : {KernelFlavour::reference, KernelFlavour::fast, KernelFlavour::fast}) {
    std::vector<Tensor> in = inputs;
    std::vector<Tensor *> inAt;
    for (Tensor &tensor : in)
      inAt.push_back(&tensor);
    Tensor out = output;
    run.flavour = flavour;
    run.threads = results.size() == 2 ? 2 : 1;
    mustRun(run, inAt, {&out});
    results.push_back(out);
  }
  EXPECT_EQ(results[1].memory, results[0].memory) << run.kernel;
  EXPECT_EQ(results[2].memory, results[0].memory) << run.kernel << " on two threads";
}

TEST(Movement, PadWithSteps) {
  for (KernelFlavour flavour : flavours) {
    Tensor x(DType::f32, {2, 2}), y(DType::f32, {4, 5});
    x.fill({1, 2, 3, 4});
    mustRun({"pad", flavour, 1, {list("low", {1, 0}), list("high", {0, 1}), list("step", {2, 3}), number("value", 9)}},
            {&x}, {&y});
    EXPECT_EQ(y.values(), (std::vector<double>{9, 9, 9, 9, 9, 1, 9, 9, 2, 9, 9, 9, 9, 9, 9, 3, 9, 9, 4, 9}));
  }
}

TEST(Movement, PadOfTheValidExtent) {
  for (KernelFlavour flavour : flavours)
    for (std::int64_t extent : {2, 1, 0}) {
      // The rank has fewer columns than its buffer: the rest is padded too.
      Tensor x(DType::f32, {2, 2}), y(DType::f32, {2, 3});
      x.fill({1, 2, 3, 4});
      x.operand.extent[1] = extent;
      mustRun({"pad", flavour, 1, {list("low", {0, 0}), list("high", {0, 1}), number("value", 9)}}, {&x}, {&y});
      EXPECT_EQ(y.values(), extent == 2   ? (std::vector<double>{1, 2, 9, 3, 4, 9})
                            : extent == 1 ? (std::vector<double>{1, 9, 9, 3, 9, 9})
                                          : std::vector<double>(6, 9));
    }
}

TEST(Movement, CopyBroadcastsAndTransposes) {
  for (KernelFlavour flavour : flavours) {
    Tensor column(DType::bf16, {2, 1}), wide(DType::bf16, {2, 2, 3});
    column.fill({1, 2});
    mustRun({"copy", flavour}, {&column}, {&wide});
    EXPECT_EQ(wide.values(), (std::vector<double>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
    Tensor x(DType::i64, {2, 3}, Layout::permuted), y(DType::i64, {2, 3});
    x.fill({1, 2, 3, 4, 5, 6});
    mustRun({"copy", flavour}, {&x}, {&y});
    EXPECT_EQ(y.values(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  }
}

TEST(Movement, SlicesOfEveryTypeAndLayout) {
  for (DType dtype : types)
    for (Layout from : layouts)
      for (Layout to : layouts) {
        Tensor x = Tensor(dtype, {3, 4, 5}, from).below(1, 100), other = Tensor(dtype, {3, 2, 5}, from).below(2, 100);
        same({"concat", {}, 1, {integer("dim", 1)}}, {x, other, x}, Tensor(dtype, {3, 10, 5}, to));
        same({"concat", {}, 1, {integer("dim", 2)}}, {x, x}, Tensor(dtype, {3, 4, 10}, to));
        same({"pad", {}, 1, {list("low", {0, 2, 1}), list("high", {1, 0, 2}), number("value", 7)}}, {x},
             Tensor(dtype, {4, 6, 8}, to));
        same({"pad",
              {},
              1,
              {list("low", {0, 1, 0}), list("high", {0, 0, 1}), list("step", {1, 2, 3}), number("value", 7)}},
             {x}, Tensor(dtype, {3, 8, 14}, to));
        Tensor part(dtype, {3, 2, 5}, to);
        part.operand.origin[1] = 1;
        same({"slice", {}, 1, {integer("dim", 1)}}, {x}, part);
      }
  same({"concat", {}, 1, {integer("dim", 0)}}, {Tensor(DType::f32, {0, 3}), Tensor(DType::f32, {2, 3}).normal(3)},
       Tensor(DType::f32, {2, 3}));
  same({"pad", {}, 1, {list("low", {2, 0}), list("high", {1, 0})}}, {Tensor(DType::f32, {0, 3})},
       Tensor(DType::f32, {3, 3}));
}

TEST(Movement, CompareAndSelect) {
  const std::vector<std::pair<Shape, Shape>> pairs = {
      {{3, 5, 17}, {3, 5, 17}}, {{3, 5, 17}, {17}}, {{3, 5, 1}, {3, 5, 17}}, {{}, {3, 5, 17}}, {{3, 1, 17}, {5, 1}}};
  for (DType dtype : types)
    for (Layout layout : layouts)
      for (const auto &[left, right] : pairs) {
        Tensor a = Tensor(dtype, left, layout).below(4, 3), b = Tensor(dtype, right, layout).below(5, 3);
        if (isFloat(dtype))
          a.set(0, std::nan(""));
        for (std::int64_t predicate = 0; predicate < 6; ++predicate)
          same({"compare", {}, 1, {integer("predicate", predicate)}}, {a, b}, Tensor(DType::u8, {3, 5, 17}, layout));
        for (const Shape &shape : {Shape{3, 5, 17}, Shape{5, 1}, Shape{}})
          same({"select"}, {Tensor(DType::u8, shape, layout).below(6, 2), a, b}, Tensor(dtype, {3, 5, 17}, layout));
      }
}

/// A view of full extent that repeats: its stride is 0.
Tensor repeated(DType dtype, const Shape &shape, int dim, unsigned seed) {
  Tensor tensor = Tensor(dtype, shape).normal(seed);
  tensor.operand.strides[dim] = 0;
  return tensor;
}

TEST(Movement, OperandsOfStrideZero) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (int dim : {0, 1, 2}) {
      Tensor x = repeated(dtype, {3, 4, 17}, dim, 7), y = Tensor(dtype, {3, 4, 17}).normal(8), out(dtype, {3, 4, 17});
      for (const char *kernel : {"add", "subtract", "multiply", "maximum"}) {
        same({kernel}, {x, y}, out);
        same({kernel}, {y, x}, out);
        same({kernel}, {x, x}, out);
      }
      same({"negate"}, {x}, out);
      same({"relu"}, {x}, out);
      same({"copy"}, {x}, out);
      same({"select"}, {repeated(DType::u8, {3, 4, 17}, dim, 9), x, y}, out);
    }
  // One case with its result written out.
  Tensor x = repeated(DType::f32, {2, 3}, 0, 1), y(DType::f32, {2, 3}), out(DType::f32, {2, 3});
  for (std::int64_t i = 0; i < 3; ++i)
    x.set(i, static_cast<double>(i + 1));
  y.fill({10, 20, 30, 40, 50, 60});
  mustRun({"add"}, {&x, &y}, {&out});
  EXPECT_EQ(out.values(), (std::vector<double>{11, 22, 33, 41, 52, 63}));
}

TEST(Movement, MeanOverDims) {
  for (KernelFlavour flavour : flavours) {
    Tensor x(DType::f32, {2, 3}), columns(DType::f32, {3}), rows(DType::f32, {2});
    x.fill({1, 2, 3, 5, 6, 9});
    mustRun({"reduce_sum", flavour, 1, {list("dims", {0}), integer("mean", 1)}}, {&x}, {&columns});
    EXPECT_EQ(columns.values(), (std::vector<double>{3, 4, 6}));
    mustRun({"reduce_sum", flavour, 1, {list("dims", {1}), integer("mean", 1)}}, {&x}, {&rows});
    EXPECT_EQ(rows.at(0), 2);
    EXPECT_FLOAT_EQ(static_cast<float>(rows.at(1)), 20.f / 3);
  }
}

TEST(Movement, LogSumExpOfInfinities) {
  double inf = std::numeric_limits<double>::infinity();
  for (KernelFlavour flavour : flavours)
    for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      Tensor x(dtype, {6, 37}), y(dtype, {6});
      x.normal(10);
      for (std::int64_t i = 0; i < 37; ++i) {
        x.set(i, -inf);
        if (i != 20)
          x.set(37 + i, -inf);
        x.set(111 + i, i == 30 ? 1000 : -1000);
        x.set(148 + i, -3e38);
      }
      x.set(37 + 20, 3);
      x.set(74 + 5, inf);
      x.set(185 + 36, std::nan(""));
      mustRun({"logsumexp", flavour}, {&x}, {&y});
      EXPECT_EQ(y.at(0), -inf);
      EXPECT_EQ(y.at(1), 3);
      EXPECT_EQ(y.at(2), inf);
      EXPECT_EQ(y.at(3), 1000);
      EXPECT_LT(y.at(4), -2.9e38);
      EXPECT_TRUE(std::isnan(y.at(5)));
    }
}

/// A larger number in a later block than in all earlier ones: the earlier sum is scaled down.
TEST(Movement, LogSumExpOfIncreasingRows) {
  for (KernelFlavour flavour : flavours) {
    Tensor x(DType::f32, {1, 5000}), y(DType::f32, {1});
    double sum = 0;
    for (std::int64_t i = 0; i < 5000; ++i) {
      x.set(i, static_cast<double>(i) * 0.05 - 100);
      sum += std::exp(x.at(i));
    }
    mustRun({"logsumexp", flavour}, {&x}, {&y});
    EXPECT_NEAR(y.at(0), std::log(sum), 2e-5);
  }
}

TEST(Movement, RandomRowsEqualRandomElements) {
  for (const char *kernel : {"random_normal", "random_uniform"})
    for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
      for (Layout layout : layouts)
        for (std::int64_t begin : {0, 1, 6}) {
          Tensor shard(dtype, {5, 7}, layout);
          shard.operand.global[0] = 30;
          shard.operand.global[1] = 29;
          shard.operand.origin[0] = 3;
          shard.operand.origin[1] = begin;
          same({kernel, {}, 1, {integer("key", 9)}}, {scalar(DType::i64, 5)}, shard);
          // Zeros from the middle of one row of the shard to the middle of another, by global index.
          same({kernel, {}, 1, {integer("key", 9), list("zeros", {4 * 29 + 3, 6 * 29 + 5})}}, {scalar(DType::i64, 5)},
               shard);
        }
}

} // namespace
