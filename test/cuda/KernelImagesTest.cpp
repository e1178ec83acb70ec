//===- KernelImagesTest.cpp - convolutions, pooling, batch norm and the chunked loss of CUDA against the references
//------===//
#include "test/cuda/KernelHarness.h"
#include "test/unit/kernel/Convolutions.h"

namespace sluice::test {
namespace {

const std::vector<Convolution> convolutions = smallConvolutionsAnd({
    {"wide", {1, 5, 6, 20}, {70, 20, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
    {"patches", {1, 8, 12, 3}, {8, 3, 4, 4}, {4, 4}, {0, 0}, {1, 1}, 1},
    {"runs", {3, 13, 11, 3}, {5, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
    {"no images", {0, 9, 11, 3}, {4, 3, 3, 3}, {1, 1}, {0, 0}, {1, 1}, 1},
});

TEST_F(CudaKernels, Convolutions) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (const Convolution &c : convolutions) {
        if (layout == Layout::permuted && (dtype == DType::f16 || dtype == DType::bf16))
          continue;
        forConvolutionKernels(
            c, dtype, layout, true, [&](const KernelRun &run, const auto &inputs, const auto &outputs, double terms) {
              compare(run, inputs, outputs, terms, std::string(c.name) + " " + std::string(dtypeName(dtype)));
            });
      }
  // Master weights with images in bf16.
  const Convolution &c = convolutions[0];
  compare({"conv2d", {}, 1, attributesOf(c)},
          {Tensor(DType::bf16, c.x).normal(1), Tensor(DType::f32, c.weight).normal(2)},
          {Tensor(DType::bf16, {2, 7, 9, 4})}, 30, "mixed");
}

// Tests that what 32 bits do not number is refused before anything is launched.
TEST_F(CudaKernels, RefusesImagesOfTooManyPlaces) {
  Tensor small(DType::f32, {1, 1, 1, 1});
  std::vector<Operand> in = {small.bound(), small.bound()}, out = {small.bound()};
  for (Operand *image : {&in[0], &out[0]})
    for (int d : {1, 2})
      image->shape[d] = image->extent[d] = image->global[d] = 65536;
  Attributes attributes({list("stride", {1, 1}), list("padding", {0, 0}), list("dilation", {1, 1})});
  const KernelRequest request{in, out, &attributes, 1, 0, kernels.get()};
  EXPECT_EQ(findCudaKernel("conv2d")(request).status().message(),
            "kernel 'conv2d' places, expected less than 2147483648 on cuda but got 4294967296");
}

TEST_F(CudaKernels, Pooling) {
  struct Pool {
    Shape x, y;
    std::vector<std::int64_t> kernel, stride, padding;
    bool adaptive;
  };
  const Pool pools[] = {{{2, 9, 11, 5}, {2, 5, 6, 5}, {3, 3}, {2, 2}, {1, 1}, false},
                        {{1, 8, 8, 70}, {1, 4, 4, 70}, {2, 2}, {2, 2}, {0, 0}, false},
                        {{1, 9, 8, 3}, {1, 3, 2, 3}, {2, 3}, {3, 4}, {0, 1}, false},
                        {{2, 7, 5, 3}, {2, 3, 2, 3}, {}, {}, {}, true},
                        {{1, 2, 3, 3}, {1, 5, 7, 3}, {}, {}, {}, true},
                        {{2, 7, 5, 30}, {2, 1, 1, 30}, {}, {}, {}, true}};
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (Layout layout : {Layout::dense, Layout::permuted})
      for (const Pool &p : pools) {
        const std::vector<Attributes::Item> attributes = {list("kernel", p.kernel), list("stride", p.stride),
                                                          list("padding", p.padding), integer("adaptive", p.adaptive)};
        // Few different values, so that maxima repeat and the first one counts; one of them is a NaN.
        Tensor x = Tensor(dtype, p.x, layout).below(5, 7);
        x.set(3, std::nan(""));
        const Tensor dy = Tensor(dtype, p.y, layout).normal(6), numbers = Tensor(dtype, p.x, layout).normal(7);
        // The references round each sum to the type.
        const double depth = dtype == DType::bf16 ? 0x1p30 : dtype == DType::f16 ? 0x1p24 : 16;
        for (std::int64_t without : {0, 1}) {
          auto means = attributes;
          means.push_back(integer("without_padding", without));
          compare({"avg_pool2d", {}, 1, means}, {numbers}, {Tensor(dtype, p.y, layout)}, 16,
                  std::string(dtypeName(dtype)));
          compare({"avg_pool2d_grad", {}, 1, means}, {dy}, {Tensor(dtype, p.x, layout)}, depth,
                  std::string(dtypeName(dtype)));
        }
        compare({"max_pool2d", {}, 1, attributes}, {x}, {Tensor(dtype, p.y, layout)}, 1, std::string(dtypeName(dtype)));
        compare({"max_pool2d_grad", {}, 1, attributes}, {dy, x}, {Tensor(dtype, p.x, layout)}, depth,
                std::string(dtypeName(dtype)));
      }
}

TEST_F(CudaKernels, BatchNorm) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (const Shape &shape : {Shape{3, 5, 7, 4}, Shape{2, 70, 33}, Shape{1, 9}, Shape{300, 3}, Shape{7, 140}}) {
        const DType statistics = statisticsOf(dtype);
        const Shape channels = {shape.back()};
        const std::string what = std::string(dtypeName(dtype)) + " " + std::to_string(shape.back());
        const std::vector<Attributes::Item> attributes = {number("epsilon", 1e-5)};
        // Far from 0: a difference of squares would lose the variance.
        const Tensor x = Tensor(dtype, shape, layout).normal(7, 1, 5), weight = Tensor(dtype, channels).normal(8);
        const Tensor bias = Tensor(dtype, channels).normal(9), dy = Tensor(dtype, shape, layout).normal(10);
        const Tensor y(dtype, shape, layout), vector(dtype, channels), statistic(statistics, channels);
        // One row has no variance: only rounding of the mean is normalized there.
        if (shape[0] != 1)
          compare({"batch_norm", {}, 1, attributes}, {x, weight, bias}, {y, statistic, statistic}, 4000, what);
        Tensor mean = Tensor(statistics, channels).normal(11, 1, 5), variance = Tensor(statistics, channels).normal(12);
        for (std::int64_t c = 0; c < variance.size(); ++c)
          variance.set(c, std::fabs(variance.at(c)) + 0.5);
        compare({"batch_norm_grad", {}, 1, attributes}, {dy, x, weight, mean, variance}, {y, vector, vector}, 4000,
                what);
      }
}

TEST_F(CudaKernels, LinearLoss) {
  struct Case {
    Shape rows;
    std::int64_t columns, classes, chunk, reduction;
    double smoothing;
  };
  const Case cases[] = {{{6}, 5, 7, 4, 0, 0},    {{2, 3}, 5, 7, 3, 1, 0}, {{3, 3}, 33, 65, 2, 0, 0.2},
                        {{5}, 8, 40, 100, 0, 0}, {{}, 3, 2, 1, 1, 0.1},   {{40}, 24, 300, 16, 0, 0},
                        {{0}, 4, 5, 2, 1, 0}};
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (const Case &c : cases) {
        const std::vector<Attributes::Item> attributes = {integer("rows", c.chunk), integer("reduction", c.reduction),
                                                          number("label_smoothing", c.smoothing)};
        Shape shape = c.rows;
        shape.push_back(c.columns);
        const DType statistics = statisticsOf(dtype);
        Tensor x = Tensor(dtype, shape, layout).normal(80),
               weight = Tensor(dtype, {c.classes, c.columns}, layout).normal(81);
        Tensor targets = Tensor(DType::i32, c.rows).below(82, c.classes), lse(statistics, c.rows), loss(statistics, {});
        if (targets.size() > 1)
          targets.set(1, -100);
        const std::string what = std::string(dtypeName(dtype)) + " of " + std::to_string(c.classes);
        // Logits, and in 16 bits their gradients, are rounded to the type.
        const double depth = dtype == DType::f64    ? 256
                             : dtype == DType::f32  ? 0x1p14
                             : dtype == DType::bf16 ? 0x1p38
                                                    : 0x1p30;
        compare({"linear_cross_entropy", {}, 1, attributes}, {x, weight, targets}, {loss, lse}, depth, what);
        mustRun({"linear_cross_entropy", KernelFlavour::reference, 1, attributes}, {&x, &weight, &targets},
                {&loss, &lse});
        compare({"linear_cross_entropy_grad", {}, 1, attributes}, {scalar(statistics, 0.7), x, weight, targets, lse},
                {Tensor(dtype, shape, layout), Tensor(dtype, {c.classes, c.columns})}, depth, what);
        compare({"linear_cross_entropy_and_grad", {}, 1, attributes}, {x, weight, targets, scalar(statistics, 0.7)},
                {loss, lse, Tensor(dtype, shape, layout), Tensor(dtype, {c.classes, c.columns})}, depth, what);
        // The gradient of the weight is added to a sum in its memory.
        const Tensor dx(dtype, shape, layout), sum = Tensor(statistics, {c.classes, c.columns}).normal(83);
        std::vector<Attributes::Item> adds = attributes;
        adds.push_back(integer("dweight_sum", 1));
        compare({"linear_cross_entropy_grad", {}, 1, adds}, {scalar(statistics, 0.7), x, weight, targets, lse, sum},
                {dx, sum}, depth, what + ", sum");
        compare({"linear_cross_entropy_and_grad", {}, 1, adds}, {x, weight, targets, scalar(statistics, 0.7), sum},
                {loss, lse, dx, sum}, depth, what + ", sum");
      }
}

// Tests that a rank with some of the classes computes its part of the gradient, targets of other ranks included.
TEST_F(CudaKernels, CrossEntropyOfSomeClasses) {
  for (double smoothing : {0.0, 0.1}) {
    Tensor logits = Tensor(DType::f32, {9, 13}).normal(21, 4), targets = Tensor(DType::i32, {9}).below(22, 40),
           dlogits(DType::f32, {9, 13});
    logits.operand.origin[1] = 13;
    logits.operand.global[1] = 40;
    compare({"cross_entropy_grad", {}, 1, {number("label_smoothing", smoothing)}},
            {scalar(DType::f32, 0.7), logits, targets, Tensor(DType::f32, {9}).normal(23, 1, 6)}, {dlogits}, 64,
            "some classes");
  }
}

} // namespace
} // namespace sluice::test
