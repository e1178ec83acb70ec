//===- AgreementRows.cpp - norms, activations and losses of rows --------------===//
#include "Agreement.h"

using namespace sluice;
using namespace sluice::test;

namespace {

TEST(Agreement, Softmax) {
  forCases(rowShapes, [](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
    for (double spread : {1.0, 60.0})
      compare({"softmax"}, {Tensor(dtype, shape, layout).normal(10, spread)}, {Tensor(dtype, shape, layout)}, 8, what);
    compare({"softmax_grad"}, {Tensor(dtype, shape, layout).normal(11), Tensor(dtype, shape, layout).normal(12)},
            {Tensor(dtype, shape, layout)}, 400, what);
  });
}

TEST(Agreement, SoftmaxOfInfinities) {
  double inf = std::numeric_limits<double>::infinity();
  for (DType dtype : floats) {
    Tensor x(dtype, {3, 20});
    x.normal(13);
    for (int i = 0; i < 20; ++i) {
      x.set(i, -inf);
      if (i % 3 == 1)
        x.set(20 + i, -inf);
    }
    x.set(45, std::nan(""));
    compare({"softmax"}, {x}, {Tensor(dtype, {3, 20})}, 8, "with infinities");
  }
}

TEST(Agreement, Gelu) {
  forCases(rowShapes, [](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
    for (std::int64_t form : {0, 1}) {
      compare({"gelu", {}, 1, {integer("approximate", form)}}, {Tensor(dtype, shape, layout).normal(14, 3)},
              {Tensor(dtype, shape, layout)}, 1, what);
      compare({"gelu_grad", {}, 1, {integer("approximate", form)}},
              {Tensor(dtype, shape, layout).normal(15), Tensor(dtype, shape, layout).normal(16, 3)},
              {Tensor(dtype, shape, layout)}, 1, what);
    }
  });
}

TEST(Agreement, LayerNorm) {
  forCases({{7}, {3, 5, 17}, {2, 8}, {5, 1}, {4, 65}, {60, 129}, {0, 4}},
           [](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
             Shape rows(shape.begin(), shape.end() - 1), columns = {shape.back()};
             DType statistics = dtype == DType::f64 ? DType::f64 : DType::f32;
             for (double mean : {0.0, 100.0}) {
               Tensor x(dtype, shape, layout);
               x.normal(17, 1, mean);
               Tensor weight(dtype, columns), means(statistics, rows), rstds(statistics, rows), y(dtype, shape, layout);
               weight.normal(18);
               compare({"layer_norm", {}, 1, {number("epsilon", 1e-5)}}, {x, weight, Tensor(dtype, columns).normal(19)},
                       {y, means, rstds}, 1, what, {0, 0.5});
               Tensor bias = Tensor(dtype, columns).normal(19);
               mustRun({"layer_norm", KernelFlavour::reference}, {&x, &weight, &bias}, {&y, &means, &rstds});
               compare({"layer_norm_grad"}, {Tensor(dtype, shape, layout).normal(20), x, weight, means, rstds},
                       {Tensor(dtype, shape, layout), Tensor(statistics, columns), Tensor(dtype, columns)},
                       // The mean is saved in f32: its rounding is the f32 kernels' common error.
                       60 + (mean != 0 ? 1e5 : 0), what);
               compare({"layer_norm_grad"},
                       {Tensor(dtype, shape, layout).normal(20), x, weight, means, rstds,
                        Tensor(dtype, shape, layout).normal(21)},
                       {Tensor(dtype, shape, layout), Tensor(statistics, columns), Tensor(dtype, columns)},
                       60 + (mean != 0 ? 1e5 : 0), what + ", addend");
             }
           });
}

/// `columns` are the sums of dx as it is stored; the other results are those of `layer_norm_grad`.
TEST(Agreement, LayerNormGradientAndSum) {
  forCases({{3, 5, 17}, {2, 8}, {5, 1}, {60, 129}, {0, 4}},
           [](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
             const Shape rows(shape.begin(), shape.end() - 1), columns = {shape.back()};
             const DType statistics = dtype == DType::f64 ? DType::f64 : DType::f32;
             for (KernelFlavour flavour : {KernelFlavour::fast, KernelFlavour::reference})
               for (bool hasAddend : {false, true}) {
                 Tensor dy = Tensor(dtype, shape, layout).normal(20), x = Tensor(dtype, shape, layout).normal(17),
                        weight = Tensor(dtype, columns).normal(18), means = Tensor(statistics, rows).normal(19),
                        rstds = Tensor(statistics, rows).normal(22), addend = Tensor(dtype, shape, layout).normal(21);
                 Tensor dx(dtype, shape, layout), dweight(statistics, columns), dbias(dtype, columns),
                     sums(statistics, columns), ownDx = dx, ownDweight = dweight, ownDbias = dbias;
                 std::vector<Tensor *> in = {&dy, &x, &weight, &means, &rstds};
                 if (hasAddend)
                   in.push_back(&addend);
                 mustRun({"layer_norm_grad", flavour}, in, {&ownDx, &ownDweight, &ownDbias});
                 mustRun({"layer_norm_grad_and_sum", flavour}, in, {&dx, &dweight, &dbias, &sums});
                 EXPECT_EQ(dx.memory, ownDx.memory) << what;
                 EXPECT_EQ(dweight.memory, ownDweight.memory) << what;
                 EXPECT_EQ(dbias.memory, ownDbias.memory) << what;
                 std::vector<double> want(static_cast<std::size_t>(columns[0]));
                 const std::vector<double> values = dx.values();
                 double terms = 0;
                 for (std::size_t i = 0; i < values.size(); ++i) {
                   want[i % want.size()] += values[i];
                   terms = std::max(terms, std::abs(values[i]));
                 }
                 const double precision = statistics == DType::f64 ? 0x1p-52 : 0x1p-23;
                 expectNear(sums, want, 4 * precision, precision * terms * static_cast<double>(values.size()), what);
               }
           });
}

/// The first estimate of the mean is that of the first elements: a row in which these are all far from the mean.
TEST(Agreement, LayerNormWithFirstElementsFarFromTheMean) {
  for (DType dtype : floats) {
    DType statistics = dtype == DType::f64 ? DType::f64 : DType::f32;
    Tensor x = Tensor(dtype, {2, 1000}).normal(17), weight = Tensor(dtype, {1000}).normal(18);
    for (std::int64_t i = 0; i < 64; ++i)
      x.set(i, x.at(i) + 1e4);
    compare({"layer_norm", {}, 1, {number("epsilon", 1e-5)}}, {x, weight, Tensor(dtype, {1000}).normal(19)},
            {Tensor(dtype, {2, 1000}), Tensor(statistics, {2}), Tensor(statistics, {2})}, 4, "");
  }
}

TEST(Agreement, Silu) {
  forCases(rowShapes, [](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
    Tensor x = Tensor(dtype, shape, layout).normal(50, 4), up = Tensor(dtype, shape, layout).normal(51);
    Tensor dy = Tensor(dtype, shape, layout).normal(52), out(dtype, shape, layout);
    compare({"silu"}, {x}, {out}, 1, what);
    compare({"silu_grad"}, {dy, x}, {out}, 1, what);
    compare({"swiglu"}, {x, up}, {out}, 1, what);
    compare({"swiglu_grad"}, {dy, x, up}, {out, out}, 1, what);
  });
}

TEST(Agreement, RmsNorm) {
  forCases({{7}, {3, 5, 17}, {2, 8}, {5, 1}, {4, 65}, {60, 129}, {0, 4}}, [](DType dtype, const Shape &shape,
                                                                             Layout layout, const std::string &what) {
    Shape rows(shape.begin(), shape.end() - 1), columns = {shape.back()};
    DType statistics = dtype == DType::f64 ? DType::f64 : DType::f32;
    Tensor x = Tensor(dtype, shape, layout).normal(53), weight = Tensor(dtype, columns).normal(54);
    Tensor y(dtype, shape, layout), rstds(statistics, rows);
    compare({"rms_norm", {}, 1, {number("epsilon", 1e-5)}}, {x, weight}, {y, rstds}, 1, what);
    mustRun({"rms_norm", KernelFlavour::reference}, {&x, &weight}, {&y, &rstds});
    Tensor dy = Tensor(dtype, shape, layout).normal(55);
    // dx = (dy w - h mean(dy w h)) rstd: in a row of one element the terms almost cancel, and the result is
    // their rounding error.
    double terms = magnitude(dy.values()) * magnitude(weight.values()) * magnitude(rstds.values());
    compare({"rms_norm_grad"}, {dy, x, weight, rstds}, {Tensor(dtype, shape, layout), Tensor(statistics, columns)}, 60,
            what, {shape.back() == 1 ? terms : 0});
    compare({"rms_norm_grad"}, {dy, x, weight, rstds, Tensor(dtype, shape, layout).normal(56)},
            {Tensor(dtype, shape, layout), Tensor(statistics, columns)}, 60, what + ", addend",
            {shape.back() == 1 ? terms : 0});
  });
}

/// The addend's memory may be that of dx.
TEST(Agreement, GradientsOfNormsInTheAddend) {
  for (DType dtype : {DType::f32, DType::bf16})
    for (KernelFlavour flavour : {KernelFlavour::fast, KernelFlavour::reference}) {
      Tensor dy = Tensor(dtype, {5, 33}).normal(1), x = Tensor(dtype, {5, 33}).normal(2);
      Tensor weight = Tensor(dtype, {33}).normal(3), rstd = Tensor(DType::f32, {5}).fill({1, 2, 0.5, 1, 3});
      Tensor separate(dtype, {5, 33}), dweight(dtype, {33});
      Tensor inPlace = Tensor(dtype, {5, 33}).normal(4), addend = inPlace;
      mustRun({"rms_norm_grad", flavour}, {&dy, &x, &weight, &rstd, &addend}, {&separate, &dweight});
      mustRun({"rms_norm_grad", flavour}, {&dy, &x, &weight, &rstd, &inPlace}, {&inPlace, &dweight});
      EXPECT_EQ(inPlace.values(), separate.values());
    }
}

TEST(Agreement, Rope) {
  const std::vector<std::vector<Attributes::Item>> forms = {
      {number("theta", 1e4)},
      {number("theta", 5e5), integer("position", 100000), integer("inverse", 1)},
      {number("theta", 1e4), integer("position", 29), number("factor", 2.5)},
      {number("theta", 1e4), number("factor", 8), number("low", 1), number("high", 4), number("original", 32)}};
  for (const auto &attributes : forms)
    forCases({{2, 7, 3, 8}, {1, 3, 2, 2}, {2, 5, 1, 40}, {1, 9, 2, 128}},
             [&](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
               compare({"rope", {}, 1, attributes},
                       {Tensor(dtype, shape, layout).normal(57), Tensor(dtype, {1, 3, 2, 6}).normal(58)},
                       {Tensor(dtype, shape, layout), Tensor(dtype, {1, 3, 2, 6})}, 1, what + ", list");
               compare({"rope", {}, 1, attributes}, {Tensor(dtype, shape, layout).normal(56)},
                       {Tensor(dtype, shape, layout)}, 4, what);
             });
}

// Theta 8 halves the frequencies of 6 elements, as theta 1 with the divisors 1, 2 and 4 does.
TEST(Agreement, RopeDivisors) {
  Tensor x = Tensor(DType::f32, {2, 5, 3, 6}).normal(57), byTheta(DType::f32, {2, 5, 3, 6}), byDivisors = byTheta;
  const std::int64_t one = std::int64_t(1) << 32;
  mustRun({"rope", {}, 1, {number("theta", 8)}}, {&x}, {&byTheta});
  mustRun({"rope", {}, 1, {number("theta", 1), list("divisors", {one, 2 * one, 4 * one})}}, {&x}, {&byDivisors});
  for (std::int64_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(byDivisors.at(i), byTheta.at(i), 1e-6) << i;
}

TEST(Agreement, CrossEntropy) {
  for (auto [reduction, smoothing] : {std::pair(0, 0.), {1, 0.}, {0, 0.1}, {1, 0.4}})
    forCases({{9, 13}, {2, 5, 37}, {3, 2501}, {6, 1}, {0, 4}}, [&](DType dtype, const Shape &shape, Layout layout,
                                                                   const std::string &what) {
      Shape rows(shape.begin(), shape.end() - 1);
      DType statistics = dtype == DType::f64 ? DType::f64 : DType::f32;
      Tensor logits(dtype, shape, layout), targets(DType::i32, rows), lse(statistics, rows);
      logits.normal(21, 4);
      targets.below(22, shape.back());
      if (targets.size() > 1)
        targets.set(1, -100);
      std::vector<Attributes::Item> attributes = {integer("reduction", reduction),
                                                  number("label_smoothing", smoothing)};
      Tensor loss(statistics, {});
      // With one class the loss is a logit minus itself, added in one order or the other.
      compare({"cross_entropy", {}, 1, attributes}, {logits, targets}, {loss, lse}, 8, what,
              {shape.back() == 1 ? magnitude(logits.values()) : 0});
      mustRun({"cross_entropy", KernelFlavour::reference, 1, attributes}, {&logits, &targets}, {&loss, &lse});
      compare({"cross_entropy_grad", {}, 1, attributes}, {scalar(DType::f32, 0.7), logits, targets, lse},
              {Tensor(dtype, shape, layout)}, 8, what);
      compare({"cross_entropy_and_grad", {}, 1, attributes}, {logits, targets, scalar(DType::f32, 0.7)},
              {loss, lse, Tensor(dtype, shape, layout)}, 8, what, {shape.back() == 1 ? magnitude(logits.values()) : 0});
    });
}

TEST(Agreement, CrossEntropyGradientInPlace) {
  Tensor logits(DType::f32, {5, 33}), targets(DType::i32, {5}), lse(DType::f32, {5}), loss(DType::f32, {});
  logits.normal(23);
  targets.below(24, 33);
  mustRun({"cross_entropy"}, {&logits, &targets}, {&loss, &lse});
  Tensor dloss = scalar(DType::f32, 1), separate(DType::f32, {5, 33});
  mustRun({"cross_entropy_grad"}, {&dloss, &logits, &targets, &lse}, {&separate});
  mustRun({"cross_entropy_grad"}, {&dloss, &logits, &targets, &lse}, {&logits});
  EXPECT_EQ(separate.values(), logits.values());

  Tensor both = Tensor(DType::f32, {5, 33}).normal(23), bothLoss(DType::f32, {});
  mustRun({"cross_entropy_and_grad"}, {&both, &targets, &dloss}, {&bothLoss, &lse, &both});
  EXPECT_EQ(separate.values(), both.values());
  EXPECT_EQ(loss.values(), bothLoss.values());
}

} // namespace
