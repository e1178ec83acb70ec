//===- KernelNormsTest.cpp - the CUDA kernels of norms against the references --------------------------------===//
#include "test/cuda/KernelHarness.h"
#include "test/unit/kernel/SumCases.h"

namespace sluice::test {
namespace {

TEST_F(CudaKernels, Norms) {
  // The last three are dense rows of one warp and of several, that runs and the teams of a block do not divide. There
  // are kernels for them where statistics are f32; other types and layouts have the general kernels, by 32, 128 or 256
  // threads for a row.
  forCases({{7}, {3, 5, 17}, {4, 65}, {90, 129}, {0, 4}, {1, 1608}, {131, 72}, {5, 1608}, {3, 4096}},
           [&](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
             const bool hasDenseKernel = dtype != DType::f64 && layout == Layout::dense;
             if (!hasDenseKernel && (shape == Shape{131, 72} || shape == Shape{5, 1608} || shape == Shape{3, 4096}))
               return;
             const Shape rows(shape.begin(), shape.end() - 1), columns = {shape.back()};
             const DType statistics = statisticsOf(dtype);
             Tensor x = Tensor(dtype, shape, layout).normal(17, 1, 3), weight = Tensor(dtype, columns).normal(18),
                    bias = Tensor(dtype, columns).normal(19);
             Tensor means(statistics, rows), rstds(statistics, rows), y(dtype, shape, layout);
             const Tensor dy = Tensor(dtype, shape, layout).normal(20);
             compare({"layer_norm", {}, 1, {number("epsilon", 1e-5)}}, {x, weight, bias}, {y, means, rstds}, 64, what);
             mustRun({"layer_norm", KernelFlavour::reference}, {&x, &weight, &bias}, {&y, &means, &rstds});
             compare({"layer_norm_grad"}, {dy, x, weight, means, rstds},
                     {Tensor(dtype, shape, layout), Tensor(statistics, columns), Tensor(dtype, columns)}, 4000, what);
             const Tensor addend = Tensor(dtype, shape, layout).normal(21);
             compare({"layer_norm_grad"}, {dy, x, weight, means, rstds, addend},
                     {Tensor(dtype, shape, layout), Tensor(statistics, columns), Tensor(dtype, columns)}, 4000,
                     what + ", addend");
             compare({"rms_norm", {}, 1, {number("epsilon", 1e-5)}}, {x, weight}, {y, rstds}, 64, what);
             mustRun({"rms_norm", KernelFlavour::reference}, {&x, &weight}, {&y, &rstds});
             compare({"rms_norm_grad"}, {dy, x, weight, rstds},
                     {Tensor(dtype, shape, layout), Tensor(statistics, columns)}, 4000, what);
             compare({"rms_norm_grad"}, {dy, x, weight, rstds, addend},
                     {Tensor(dtype, shape, layout), Tensor(statistics, columns)}, 4000, what + ", addend");
           });
}

// Tests that the rounding of a mean far above the deviation costs no digits, by the general form and by the dense one.
// The gradient is compared with that of the mean in f64.
TEST_F(CudaKernels, NormsOfALargeMean) {
  for (const Shape &shape : {Shape{20, 7}, Shape{20, 8}, Shape{70, 136}, Shape{5, 1608}}) {
    const Shape rows = {shape[0]}, columns = {shape[1]};
    const std::string what = "of a large mean, " + std::to_string(shape[1]);
    const auto wide = [](const Tensor &from, const Shape &shape) {
      Tensor to(DType::f64, shape);
      for (std::int64_t i = 0; i < to.size(); ++i)
        to.set(i, from.at(i));
      return to;
    };
    Tensor x = Tensor(DType::f32, shape).normal(17, 1, 1000), dy = Tensor(DType::f32, shape).normal(20),
           weight = Tensor(DType::f32, columns).normal(18), bias = Tensor(DType::f32, columns).normal(19);
    Tensor means(DType::f32, rows), rstds(DType::f32, rows), y(DType::f32, shape);
    compare({"layer_norm", {}, 1, {number("epsilon", 1e-5)}}, {x, weight, bias}, {y, means, rstds}, 64, what);
    mustRun({"layer_norm", KernelFlavour::reference}, {&x, &weight, &bias}, {&y, &means, &rstds});

    Tensor wideX = wide(x, shape), wideDy = wide(dy, shape), wideWeight = wide(weight, columns),
           wideBias = wide(bias, columns), wideMeans(DType::f64, rows), wideRstds(DType::f64, rows);
    Tensor want[] = {Tensor(DType::f64, shape), Tensor(DType::f64, columns), Tensor(DType::f64, columns)};
    mustRun({"layer_norm", KernelFlavour::reference}, {&wideX, &wideWeight, &wideBias},
            {&want[0], &wideMeans, &wideRstds});
    mustRun({"layer_norm_grad", KernelFlavour::reference}, {&wideDy, &wideX, &wideWeight, &wideMeans, &wideRstds},
            {&want[0], &want[1], &want[2]});
    std::vector<Tensor> in = {dy, x, weight, means, rstds},
                        got = {Tensor(DType::f32, shape), Tensor(DType::f32, columns), Tensor(DType::f32, columns)};
    const Status status = runOnDevice({"layer_norm_grad"}, in, got);
    ASSERT_TRUE(status.isOk()) << status.message();
    for (int i = 0; i < 3; ++i)
      expectNear(got[static_cast<std::size_t>(i)], want[i].values(), 4 * 0x1p-23,
                 0x1p-23 * magnitude(want[i].values()) * 64, what + " gradient " + std::to_string(i));
  }
}

// Tests that `columns` are the sums of dx as it is stored, and that dx has the bits of `layer_norm_grad`. A row of
// 4,096 elements of f32 leaves no shared memory for sums.
TEST_F(CudaKernels, NormGradientAndSum) {
  forCases({{3, 5, 17}, {67, 72}, {2, 1032}, {1, 4096}}, [&](DType dtype, const Shape &shape, Layout layout,
                                                             const std::string &what) {
    const Shape rows(shape.begin(), shape.end() - 1), columns = {shape.back()};
    const DType statistics = statisticsOf(dtype);
    Tensor x = Tensor(dtype, shape, layout).normal(17, 1, 3), weight = Tensor(dtype, columns).normal(18),
           bias = Tensor(dtype, columns).normal(19);
    Tensor y(dtype, shape, layout), means(statistics, rows), rstds(statistics, rows);
    mustRun({"layer_norm", KernelFlavour::reference, 1, {number("epsilon", 1e-5)}}, {&x, &weight, &bias},
            {&y, &means, &rstds});
    std::vector<Tensor> in = {Tensor(dtype, shape, layout).normal(20), x, weight, means, rstds};
    if (shape.size() == 2)
      in.push_back(Tensor(dtype, shape, layout).normal(21));
    std::vector<Tensor> own = {Tensor(dtype, shape, layout), Tensor(statistics, columns), Tensor(dtype, columns)},
                        both = own;
    both.push_back(Tensor(statistics, columns));
    std::vector<Tensor> again = both;
    Status status = runOnDevice({"layer_norm_grad"}, in, own);
    ASSERT_TRUE(status.isOk()) << status.message();
    compared.insert("layer_norm_grad_and_sum");
    for (std::vector<Tensor> *out : {&both, &again}) {
      setOrder(++seed);
      status = runOnDevice({"layer_norm_grad_and_sum"}, in, *out);
      setOrder(0);
      ASSERT_TRUE(status.isOk()) << status.message();
    }
    EXPECT_EQ(both[0].memory, own[0].memory) << what;
    const double precision = statistics == DType::f64 ? 0x1p-52 : 0x1p-23;
    const double unit = dtype == DType::bf16 ? 0x1p-8 : dtype == DType::f16 ? 0x1p-11 : precision;
    std::vector<double> sums(static_cast<std::size_t>(columns[0]));
    const std::vector<double> dx = both[0].values(), dweight = own[1].values(), dbias = own[2].values();
    for (std::size_t i = 0; i < dx.size(); ++i)
      sums[i % sums.size()] += dx[i];
    const auto count = static_cast<double>(dx.size());
    expectNear(both[1], dweight, 4 * precision, precision * magnitude(dweight) * count, what + " dweight");
    expectNear(both[2], dbias, 4 * unit, precision * magnitude(dbias) * count, what + " dbias");
    expectNear(both[3], sums, 4 * precision, precision * magnitude(dx) * count, what + " columns");
    for (std::size_t i = 0; i < both.size(); ++i)
      EXPECT_EQ(both[i].memory, again[i].memory) << what << " depends on the order of threads";
  });
}

// Tests that gradients which are added to sums have the bits of separate additions.
TEST_F(CudaKernels, Sums) {
  checksRaces = false;
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (const SumCase &one : sumCases(dtype, layout))
        expectSums(one, dtypeName(dtype).data(),
                   [&](const KernelRun &run, std::vector<Tensor> &inputs, std::vector<Tensor> &outputs) {
                     setOrder(++seed);
                     return runOnDevice(run, inputs, outputs);
                   });
}

} // namespace
} // namespace sluice::test
