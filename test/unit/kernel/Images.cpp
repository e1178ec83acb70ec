//===- Images.cpp - fast kernels on images against their references ------------===//
//
// Convolutions, pooling, batch norm: odd sizes, windows that reach over the border, every float type, one thread and
// two.
//
//===----------------------------------------------------------------------===//
#include "Convolutions.h"

#include "runtime/kernel/cpu/ConvolutionWeightGrad.h"

#include <cmath>

using namespace sluice;
using namespace sluice::test;

namespace {

/// The fast kernel returns the result of the reference, within `units` of the type's rounding of the largest value.
void compareImages(Run run, const std::vector<Tensor> &inputs, const std::vector<Tensor> &outputs, double units,
                   const std::string &what) {
  std::vector<Tensor> want = outputsOf(run, KernelFlavour::reference, 1, inputs, outputs),
                      got = outputsOf(run, KernelFlavour::fast, 1, inputs, outputs),
                      parallel = outputsOf(run, KernelFlavour::fast, 2, inputs, outputs);
  for (std::size_t i = 0; i < want.size(); ++i) {
    auto values = want[i].values();
    double size = magnitude(values);
    double unit = outputs[i].operand.dtype == DType::bf16  ? 0x1p-8
                  : outputs[i].operand.dtype == DType::f16 ? 0x1p-11
                                                           : 0x1p-23;
    expectNear(got[i], values, 2 * unit, 0x1p-23 * units * (size == 0 ? 1 : size),
               run.kernel + " " + what + " output " + std::to_string(i));
    // The library may add in a different order on a different number of threads; Sluice's kernels may not.
    if (run.kernel.starts_with("conv2d"))
      expectNear(parallel[i], values, 2 * unit, 0x1p-23 * units * (size == 0 ? 1 : size),
                 run.kernel + " " + what + " output " + std::to_string(i) + " on two threads");
    else
      EXPECT_EQ(parallel[i].memory, got[i].memory) << run.kernel << " " << what << " differs on two threads";
  }
}

const std::vector<Convolution> convolutions = smallConvolutionsAnd({
    {"padded", {2, 8, 7, 16}, {8, 16, 5, 5}, {1, 1}, {2, 2}, {1, 1}, 1},
    {"odd channels", {1, 7, 9, 13}, {11, 13, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
    {"patches", {2, 28, 42, 3}, {32, 3, 14, 14}, {14, 14}, {0, 0}, {1, 1}, 1},
    // Wide enough for the separate form of the weight: panels with a rest, several blocks of outputs, runs of rows.
    {"wide", {4, 9, 18, 20}, {35, 20, 3, 5}, {1, 1}, {1, 2}, {1, 1}, 1},
    {"wide, few channels", {3, 11, 29, 3}, {9, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
    {"wide, strided", {2, 11, 41, 17}, {8, 17, 3, 3}, {2, 2}, {1, 1}, {1, 1}, 1},
    {"wide, strided, few channels", {1, 11, 33, 3}, {10, 3, 7, 7}, {2, 2}, {3, 3}, {1, 1}, 1},
    {"wide, dilated", {2, 13, 23, 16}, {12, 16, 3, 3}, {1, 1}, {3, 2}, {3, 2}, 1},
    {"wide, strided and dilated", {1, 9, 50, 7}, {10, 7, 2, 3}, {2, 3}, {0, 4}, {2, 2}, 1},
    {"wide, more padding than image", {1, 2, 3, 4}, {8, 4, 2, 3}, {1, 1}, {5, 9}, {1, 1}, 1},
});

TEST(Images, ConvolutionsAgree) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (const Convolution &c : convolutions) {
        // The code for layouts and types is common; the references are slow.
        if (std::string(c.name).starts_with("wide") && (layout != Layout::dense || dtype == DType::f64))
          continue;
        Shape y = resultOf(c);
        std::string what = std::string(c.name) + " " + std::string(dtypeName(dtype));
        Tensor x = Tensor(dtype, c.x, layout).normal(1), weight = Tensor(dtype, c.weight).normal(2),
               bias = Tensor(dtype, {c.weight[0]}).normal(3), dy = Tensor(dtype, y, layout).normal(4);
        auto attributes = attributesOf(c);
        auto terms = std::sqrt(static_cast<double>(c.weight[1] * c.weight[2] * c.weight[3])) + 8;
        compareImages({"conv2d", {}, 1, attributes}, {x, weight, bias}, {Tensor(dtype, y, layout)}, terms, what);
        compareImages({"conv2d", {}, 1, attributes}, {x, weight}, {Tensor(dtype, y)}, terms, what);
        compareImages({"conv2d_input_grad", {}, 1, attributes}, {dy, weight}, {Tensor(dtype, c.x)}, terms, what);
        compareImages({"conv2d_weight_grad", {}, 1, attributes}, {dy, x}, {Tensor(dtype, c.weight)}, 4 * terms, what);
      }
}

// The order of a weight's sums does not depend on threads, except in the library.
TEST(Images, WeightGradientDoesNotDependOnThreads) {
  for (const Convolution &c : convolutions) {
    Shape y = resultOf(c);
    cpu::ConvolutionShape s;
    s.images = c.x[0], s.inputs = c.x[3], s.outputs = y[3];
    for (std::size_t d = 0; d < 2; ++d)
      s.in[d] = c.x[d + 1], s.out[d] = y[d + 1], s.kernel[d] = c.weight[d + 2], s.stride[d] = c.stride[d],
      s.padding[d] = c.padding[d], s.dilation[d] = c.dilation[d];
    if (c.groups != 1)
      continue;
    Tensor dy = Tensor(DType::f32, y).normal(4), x = Tensor(DType::f32, c.x).normal(1);
    cpu::WeightGrad own(s);
    std::vector<std::vector<float>> weights;
    for (int threads : {1, 2, 3}) {
      std::vector<float> weight(static_cast<std::size_t>(c.weight[0] * c.weight[1] * c.weight[2] * c.weight[3]));
      std::vector<float> workspace(own.workspace(threads) / sizeof(float));
      own.run(dy.bound().as<float>(), x.bound().as<float>(), weight.data(), workspace.data(), threads);
      weights.push_back(weight);
    }
    EXPECT_EQ(weights[1], weights[0]) << c.name;
    EXPECT_EQ(weights[2], weights[0]) << c.name;
  }
}

TEST(Images, PoolingAgrees) {
  struct Pool {
    Shape x, y;
    std::vector<std::int64_t> kernel, stride, padding;
    bool adaptive;
  };
  const Pool pools[] = {{{2, 9, 11, 5}, {2, 5, 6, 5}, {3, 3}, {2, 2}, {1, 1}, false},
                        {{1, 8, 8, 70}, {1, 4, 4, 70}, {2, 2}, {2, 2}, {0, 0}, false},
                        {{2, 7, 5, 3}, {2, 3, 2, 3}, {}, {}, {}, true},
                        {{2, 7, 5, 130}, {2, 1, 1, 130}, {}, {}, {}, true}};
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (const Pool &p : pools) {
      std::vector<Attributes::Item> attributes = {{"kernel", 0, 0, p.kernel},
                                                  {"stride", 0, 0, p.stride},
                                                  {"padding", 0, 0, p.padding},
                                                  {"adaptive", p.adaptive, 0, {}}};
      Tensor x = Tensor(dtype, p.x).normal(5), dy = Tensor(dtype, p.y).normal(6);
      for (std::int64_t without : {0, 1}) {
        auto means = attributes;
        means.push_back({"without_padding", without, 0, {}});
        compareImages({"avg_pool2d", {}, 1, means}, {x}, {Tensor(dtype, p.y)}, 16, std::string(dtypeName(dtype)));
        compareImages({"avg_pool2d_grad", {}, 1, means}, {dy}, {Tensor(dtype, p.x)}, 16, std::string(dtypeName(dtype)));
      }
      if (p.adaptive)
        continue;
      compareImages({"max_pool2d", {}, 1, attributes}, {x}, {Tensor(dtype, p.y)}, 4, std::string(dtypeName(dtype)));
      compareImages({"max_pool2d_grad", {}, 1, attributes}, {dy, x}, {Tensor(dtype, p.x)}, 16,
                    std::string(dtypeName(dtype)));
    }
}

TEST(Images, BatchNormAgrees) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (Shape shape : {Shape{3, 5, 7, 4}, Shape{2, 70, 33}, Shape{1, 9}, Shape{300, 3}}) {
      DType statistics = dtype == DType::f64 ? DType::f64 : DType::f32;
      Shape channels = {shape.back()};
      std::string what = std::string(dtypeName(dtype)) + " " + std::to_string(shape.back());
      Tensor x = Tensor(dtype, shape).normal(7), weight = Tensor(dtype, channels).normal(8),
             bias = Tensor(dtype, channels).normal(9), dy = Tensor(dtype, shape).normal(10);
      sluice::test::Run forward = {"batch_norm", {}, 1, {number("epsilon", 1e-5)}};
      compareImages(forward, {x, weight, bias},
                    {Tensor(dtype, shape), Tensor(statistics, channels), Tensor(statistics, channels)}, 64, what);
      Tensor mean = Tensor(statistics, channels).normal(11), variance = Tensor(statistics, channels).normal(12);
      for (std::int64_t c = 0; c < variance.size(); ++c)
        variance.set(c, std::fabs(variance.at(c)) + 0.5);
      compareImages({"batch_norm_grad", {}, 1, {number("epsilon", 1e-5)}}, {dy, x, weight, mean, variance},
                    {Tensor(dtype, shape), Tensor(dtype, channels), Tensor(dtype, channels)}, 256, what);
    }
}

TEST(Images, PointwiseAgree) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted}) {
      Tensor x = Tensor(dtype, {3, 37}, layout).normal(13, 4), y = Tensor(dtype, {3, 37}, layout).normal(14);
      for (const char *kernel : {"sigmoid", "softplus"})
        compareImages({kernel}, {x}, {Tensor(dtype, {3, 37}, layout)}, 4, std::string(dtypeName(dtype)));
      compareImages({"power", {}, 1, {number("exponent", 2)}}, {x}, {Tensor(dtype, {3, 37}, layout)}, 4, "square");
      compareImages({"power", {}, 1, {number("exponent", 3)}}, {x}, {Tensor(dtype, {3, 37}, layout)}, 4, "cube");
      compareImages({"relu_grad"}, {x, y}, {Tensor(dtype, {3, 37}, layout)}, 1, std::string(dtypeName(dtype)));
      compareImages({"logsumexp"}, {x}, {Tensor(dtype, {3})}, 8, std::string(dtypeName(dtype)));
    }
}

} // namespace
