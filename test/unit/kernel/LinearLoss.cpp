//===- LinearLoss.cpp - the chunked loss against the plain one and separate kernels ----===//
#include "Harness.h"

using namespace sluice;
using namespace sluice::test;

namespace {

struct LossCase {
  std::int64_t rows, columns, classes, chunk, reduction;
  double smoothing;
};

const LossCase cases[] = {{6, 5, 7, 4, 0, 0},    {6, 5, 7, 3, 1, 0},   {9, 33, 65, 2, 0, 0.2},
                          {5, 8, 40, 100, 0, 0}, {1, 3, 2, 1, 1, 0.1}, {40, 24, 300, 16, 0, 0}};

std::vector<Attributes::Item> attributesOf(const LossCase &c) {
  return {integer("rows", c.chunk), integer("reduction", c.reduction), number("label_smoothing", c.smoothing)};
}

struct Operands {
  Tensor x, weight, targets, loss, lse, dx, dweight;
  Operands(DType dtype, const LossCase &c, Layout layout) {
    DType statistics = dtype == DType::f64 ? DType::f64 : DType::f32;
    x = Tensor(dtype, {c.rows, c.columns}, layout).normal(80);
    weight = Tensor(dtype, {c.classes, c.columns}, layout).normal(81);
    targets = Tensor(DType::i32, {c.rows}).below(82, static_cast<std::int64_t>(c.classes));
    if (c.rows > 1)
      targets.set(1, -100);
    loss = Tensor(statistics, {}), lse = Tensor(statistics, {c.rows});
    dx = Tensor(dtype, {c.rows, c.columns}, layout), dweight = Tensor(dtype, {c.classes, c.columns});
  }
  void run(KernelFlavour flavour, const LossCase &c, int threads = 1) {
    Tensor dloss = scalar(loss.operand.dtype, 0.7);
    mustRun({"linear_cross_entropy", flavour, threads, attributesOf(c)}, {&x, &weight, &targets}, {&loss, &lse});
    mustRun({"linear_cross_entropy_grad", flavour, threads, attributesOf(c)}, {&dloss, &x, &weight, &targets, &lse},
            {&dx, &dweight});
  }
  /// Loss and gradients by one kernel.
  void runBoth(KernelFlavour flavour, const LossCase &c) {
    Tensor dloss = scalar(loss.operand.dtype, 0.7);
    mustRun({"linear_cross_entropy_and_grad", flavour, 1, attributesOf(c)}, {&x, &weight, &targets, &dloss},
            {&loss, &lse, &dx, &dweight});
  }
};

TEST(LinearLoss, ChunksMatchTheReference) {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16})
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (const LossCase &c : cases) {
        std::string what =
            std::string(dtypeName(dtype)) + " " + std::to_string(c.rows) + " by " + std::to_string(c.chunk);
        Operands fast(dtype, c, layout), plain(dtype, c, layout);
        fast.run(KernelFlavour::fast, c);
        plain.run(KernelFlavour::reference, c);
        // Logits, and in bf16 and f16 their gradients, are rounded to the type; sums of rows are as large as a row's
        // terms.
        double unit = dtype == DType::f64    ? 0x1p-48
                      : dtype == DType::f32  ? 0x1p-19
                      : dtype == DType::bf16 ? 0x1p-4
                                             : 0x1p-7;
        double size = std::sqrt(static_cast<double>(c.columns));
        expectNear(fast.loss, plain.loss.values(), unit, unit * size, "loss " + what);
        expectNear(fast.lse, plain.lse.values(), unit, unit * size, "lse " + what);
        double share = c.reduction ? 1 : 1.0 / static_cast<double>(c.rows);
        expectNear(fast.dx, plain.dx.values(), unit, unit * size * share, "dx " + what);
        expectNear(fast.dweight, plain.dweight.values(), unit, unit * size * share, "dweight " + what);
      }
}

// In f32 the numbers of the chunks are those of a separate product and loss, except the sum of the chunks.
TEST(LinearLoss, EqualsSeparateProductAndLoss) {
  for (const LossCase &c : cases) {
    Operands whole(DType::f32, c, Layout::dense);
    whole.run(KernelFlavour::fast, c);
    Tensor logits(DType::f32, {c.rows, c.classes}), loss(DType::f32, {}), lse(DType::f32, {c.rows});
    mustRun({"matmul", KernelFlavour::fast, 1, {integer("transpose_b", 1)}}, {&whole.x, &whole.weight}, {&logits});
    mustRun({"cross_entropy", KernelFlavour::fast, 1, attributesOf(c)}, {&logits, &whole.targets}, {&loss, &lse});
    expectNear(whole.loss, loss.values(), 0x1p-21, 0x1p-21, "loss");
    expectNear(whole.lse, lse.values(), 0x1p-21, 0x1p-21, "lse");
  }
}

TEST(LinearLoss, OneKernelHasTheBitsOfTwo) {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16})
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (KernelFlavour flavour : {KernelFlavour::fast, KernelFlavour::reference})
        for (const LossCase &c : cases) {
          Operands two(dtype, c, layout), one(dtype, c, layout);
          two.run(flavour, c);
          one.runBoth(flavour, c);
          for (auto member : {&Operands::loss, &Operands::lse, &Operands::dx, &Operands::dweight})
            EXPECT_EQ((one.*member).values(), (two.*member).values()) << dtypeName(dtype) << " of " << c.classes;
        }
}

/// Every chunk is added to a sum in the memory of dweight, which is in f32 for weights of 16 bits. The values differ
/// from a separate addition by the order of the chunks.
TEST(LinearLoss, AddsToASum) {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16})
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (KernelFlavour flavour : {KernelFlavour::fast, KernelFlavour::reference})
        for (const LossCase &c : cases) {
          const DType sum = dtype == DType::f64 ? DType::f64 : DType::f32;
          const double unit = sum == DType::f64 ? 0x1p-49 : 0x1p-20;
          Operands separate(dtype, c, layout);
          separate.dweight = Tensor(sum, {c.classes, c.columns});
          Operands two = separate, one = separate;
          separate.run(flavour, c);
          two.dweight.normal(83);
          Tensor before = one.dweight = two.dweight, dloss = scalar(sum, 0.7);
          std::vector<double> want = separate.dweight.values();
          for (std::int64_t i = 0; i < before.size(); ++i)
            want[static_cast<std::size_t>(i)] += before.at(i);
          std::vector<Attributes::Item> adds = attributesOf(c);
          adds.push_back(integer("dweight_sum", 1));
          mustRun({"linear_cross_entropy", flavour, 1, attributesOf(c)}, {&two.x, &two.weight, &two.targets},
                  {&two.loss, &two.lse});
          mustRun({"linear_cross_entropy_grad", flavour, 1, adds},
                  {&dloss, &two.x, &two.weight, &two.targets, &two.lse, &before}, {&two.dx, &two.dweight});
          mustRun({"linear_cross_entropy_and_grad", flavour, 1, adds},
                  {&one.x, &one.weight, &one.targets, &dloss, &before}, {&one.loss, &one.lse, &one.dx, &one.dweight});
          const std::string what = std::string(dtypeName(dtype)) + " of " + std::to_string(c.classes);
          expectNear(two.dweight, want, unit, unit * 4, what);
          for (auto member : {&Operands::loss, &Operands::lse, &Operands::dx, &Operands::dweight})
            EXPECT_EQ((one.*member).values(), (two.*member).values()) << what;
          EXPECT_EQ(one.dx.values(), separate.dx.values()) << what;
        }
}

TEST(LinearLoss, ThreadsDoNotChangeValues) {
  LossCase c = cases[5];
  Operands one(DType::f32, c, Layout::dense), two(DType::f32, c, Layout::dense);
  one.run(KernelFlavour::fast, c, 1);
  two.run(KernelFlavour::fast, c, 2);
  expectNear(two.dweight, one.dweight.values(), 0x1p-19, 0x1p-19, "dweight");
  expectNear(two.dx, one.dx.values(), 0x1p-19, 0x1p-19, "dx");
}

TEST(LinearLoss, RefusesBadOperands) {
  LossCase c = cases[0];
  for (KernelFlavour flavour : {KernelFlavour::fast, KernelFlavour::reference}) {
    Operands o(DType::f32, c, Layout::dense);
    EXPECT_EQ(tryRun({"linear_cross_entropy", flavour, 1, {integer("rows", 0)}}, {&o.x, &o.weight, &o.targets},
                     {&o.loss, &o.lse})
                  .message(),
              "kernel 'linear_cross_entropy' rows, expected at least 1 but got 0");
    o.targets.set(4, 7);
    EXPECT_EQ(
        tryRun({"linear_cross_entropy", flavour, 1, attributesOf(c)}, {&o.x, &o.weight, &o.targets}, {&o.loss, &o.lse})
            .message(),
        "target of row 4, expected 0 to 6 but got 7");
  }
}

} // namespace
