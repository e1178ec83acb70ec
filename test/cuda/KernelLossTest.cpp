//===- KernelLossTest.cpp - cross entropy on a GPU, against the references ------------------------------------===//
#include "test/cuda/KernelHarness.h"

namespace sluice::test {
namespace {

TEST_F(CudaKernels, CrossEntropy) {
  // The log of the sum of one exponential is the logit. The loss is the rounding of their difference in f64, so its
  // error is relative to the logit, not to the loss.
  const auto compareOneClass = [&](KernelRun run, std::vector<Tensor> in, const std::vector<Tensor> &out,
                                   const std::string &what) {
    std::vector<Tensor> want = out, got = out, back = out, again = in;
    run.flavour = KernelFlavour::reference;
    mustRun(run, {&in[0], &in[1]}, {&want[0], &want[1]});
    setOrder(++seed);
    Status status = runOnDevice(run, in, got);
    setOrder(++seed);
    if (status.isOk())
      status = runOnDevice(run, again, back);
    setOrder(0);
    ASSERT_TRUE(status.isOk()) << what << ": " << status.message();
    expectNear(got[0], want[0].values(), 0, 0x1p-50 * magnitude(in[0].values()), what + " loss of one class");
    expectNear(got[1], in[0].values(), 0, 0, what + " log of one exponential");
    for (std::size_t i = 0; i < out.size(); ++i)
      EXPECT_EQ(got[i].memory, back[i].memory) << what << " of one class depends on the order of threads";
  };
  for (std::int64_t reduction : {0, 1})
    for (double smoothing : {0.0, 0.1})
      forCases({{9, 13}, {2, 5, 37}, {3, 1201}, {6, 1}}, [&](DType dtype, const Shape &shape, Layout layout,
                                                             const std::string &what) {
        const Shape rows(shape.begin(), shape.end() - 1);
        Tensor logits = Tensor(dtype, shape, layout).normal(21, 4),
               targets = Tensor(DType::i32, rows).below(22, shape.back());
        Tensor lse(statisticsOf(dtype), rows), loss(statisticsOf(dtype), {});
        targets.set(1, -100);
        const std::vector<Attributes::Item> attributes = {integer("reduction", reduction),
                                                          number("label_smoothing", smoothing)};
        if (shape.back() == 1)
          compareOneClass({"cross_entropy", {}, 1, attributes}, {logits, targets}, {loss, lse}, what);
        else
          compare({"cross_entropy", {}, 1, attributes}, {logits, targets}, {loss, lse}, 64, what);
        mustRun({"cross_entropy", KernelFlavour::reference, 1, attributes}, {&logits, &targets}, {&loss, &lse});
        compare({"cross_entropy_grad", {}, 1, attributes}, {scalar(DType::f32, 0.7), logits, targets, lse},
                {Tensor(dtype, shape, layout)}, 64, what);
      });
}

/// A case of cross_entropy_and_grad; every third target is ignored.
struct LossCase {
  KernelRun run;
  std::vector<Tensor> in, out;

  LossCase(DType dtype, const Shape &shape, Layout layout, std::vector<Attributes::Item> attributes = {})
      : run{"cross_entropy_and_grad", {}, 1, std::move(attributes)} {
    const Shape rows(shape.begin(), shape.end() - 1);
    const DType statistics = dtype == DType::f64 ? DType::f64 : DType::f32;
    Tensor targets = Tensor(DType::i32, rows).below(22, shape.back());
    for (std::int64_t row = 1; row < targets.size(); row += 3)
      targets.set(row, -100);
    in = {Tensor(dtype, shape, layout).normal(21, 4), targets, scalar(DType::f32, 0.7)};
    out = {Tensor(statistics, {}), Tensor(statistics, rows), Tensor(dtype, shape, layout)};
  }
};

// Tests rows that blocks divide unevenly, of one vector and of several, with and without elements after the last one.
TEST_F(CudaKernels, CrossEntropyAndGradient) {
  for (std::int64_t reduction : {0, 1})
    for (double smoothing : {0.0, 0.1}) {
      const std::vector<Attributes::Item> attributes = {integer("reduction", reduction),
                                                        number("label_smoothing", smoothing)};
      forCases({{9, 13}, {2, 5, 37}, {3, 1201}},
               [&](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
                 const LossCase c(dtype, shape, layout, attributes);
                 compare(c.run, c.in, c.out, 64, what);
               });
      for (DType dtype : {DType::f32, DType::bf16, DType::f16})
        for (const Shape &shape : {Shape{11, 64}, Shape{2, 3, 37}, Shape{9, 4501}, Shape{3, 20000}}) {
          const LossCase c(dtype, shape, Layout::aligned, attributes);
          compare(c.run, c.in, c.out, 64, std::string(dtypeName(dtype)) + " of " + std::to_string(shape.back()));
        }
    }
}

// Tests a row that does not fit in the shared memory of a block.
TEST_F(CudaKernels, CrossEntropyAndGradientOfLongRows) {
  const LossCase c(DType::f32, {2, 60000}, Layout::aligned);
  compare(c.run, c.in, c.out, 64, "60000 classes");
}

// Tests a target that is no class, and logits whose sum of exponentials is not finite.
TEST_F(CudaKernels, CrossEntropyAndGradientOfBadRows) {
  LossCase c(DType::bf16, {6, 70}, Layout::aligned, {integer("reduction", 1)});
  c.in[1].fill({1, -100, 70, 2, -1, 3});
  c.in[0].set(1 * 70, std::numeric_limits<double>::quiet_NaN());
  c.in[0].set(3 * 70, std::numeric_limits<double>::infinity());
  ASSERT_TRUE(runOnDevice(c.run, c.in, c.out).isOk());
  EXPECT_TRUE(std::isnan(c.out[0].at(0)));
  const std::vector<double> gradient = c.out[2].values();
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const std::size_t row = i / 70;
    if (row == 1) {
      EXPECT_EQ(gradient[i], 0) << i;
    } else if (row == 2 || row == 4) {
      EXPECT_TRUE(std::isnan(gradient[i])) << i;
    } else if (row != 3) {
      EXPECT_TRUE(std::isfinite(gradient[i])) << i;
    }
  }
  EXPECT_TRUE(std::isinf(c.out[1].at(3)));
  EXPECT_TRUE(std::isnan(gradient[3 * 70]));
}

// Tests that the gradient in the memory of the logits has the bits of one elsewhere.
TEST_F(CudaKernels, CrossEntropyAndGradientInPlace) {
  for (DType dtype : {DType::f32, DType::bf16})
    for (Layout layout : {Layout::aligned, Layout::dense}) {
      const LossCase c(dtype, {13, 1203}, layout);
      std::vector<Tensor> in = c.in, again = c.in, separate = c.out, shared = c.out;
      ASSERT_TRUE(runOnDevice(c.run, in, separate).isOk());
      inPlace = {{0, 2}};
      const Status status = runOnDevice(c.run, again, shared);
      inPlace.clear();
      ASSERT_TRUE(status.isOk()) << status.message();
      for (std::size_t i = 0; i < shared.size(); ++i)
        EXPECT_EQ(shared[i].values(), separate[i].values()) << i;
    }
}

} // namespace
} // namespace sluice::test
