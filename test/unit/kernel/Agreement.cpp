//===- Agreement.cpp - the fast kernels against their references --------------===//
//
// Every kernel that has a fast form, over odd sizes, layouts, types and thread counts. Inputs are rounded to the type
// first, so that both compute from the same numbers; the reference computes in f64 and rounds once.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace sluice;
using namespace sluice::test;

namespace {

/// Relative and absolute tolerance of a type, `depth` terms being added up.
struct Tolerance {
  double relative, absolute;
  Tolerance(DType dtype, double size, double depth = 1) {
    double unit = dtype == DType::bf16  ? 0x1p-8
                  : dtype == DType::f16 ? 0x1p-11
                  : dtype == DType::f32 ? 0x1p-23
                                        : 0x1p-50;
    // The result is rounded once to the type; what is inside is f32.
    double inside = dtype == DType::f64 ? 0x1p-50 : 0x1p-23;
    relative = unit * 2;
    absolute = inside * size * (2 + std::sqrt(depth));
  }
};

constexpr DType floats[] = {DType::f32, DType::bf16, DType::f16, DType::f64};

/// Runs both flavours and compares every output. `sizes` tells of an output the size of what is added up where its
/// terms cancel, so that the result does not show it.
void compare(Run run, const std::vector<Tensor> &inputs, const std::vector<Tensor> &outputs, double depth,
             const std::string &what, const std::vector<double> &sizes = {}) {
  std::vector<Tensor> want = outputsOf(run, KernelFlavour::reference, 1, inputs, outputs),
                      got = outputsOf(run, KernelFlavour::fast, 1, inputs, outputs);
  for (std::size_t i = 0; i < want.size(); ++i) {
    auto values = want[i].values();
    // What is computed from f32 has the digits of f32, whatever it is stored in.
    DType stored = outputs[i].operand.dtype;
    bool lesser = stored == DType::f64 && !inputs.empty() && inputs[0].operand.dtype != DType::f64;
    double size = std::max(magnitude(values), i < sizes.size() ? sizes[i] : 0);
    Tolerance tolerance(lesser ? DType::f32 : stored, size == 0 ? 1 : size, depth);
    expectNear(got[i], values, tolerance.relative, tolerance.absolute,
               run.kernel + " " + what + " output " + std::to_string(i));
  }
  // The same bits on another number of threads.
  std::vector<Tensor> parallel = outputsOf(run, KernelFlavour::fast, 2, inputs, outputs);
  for (std::size_t i = 0; i < want.size(); ++i)
    if (run.kernel != "matmul") {
      EXPECT_EQ(parallel[i].memory, got[i].memory) << run.kernel << " " << what << " differs on two threads";
    }
}

std::string label(DType dtype, const Shape &shape, Layout layout) {
  std::string text(dtypeName(dtype));
  for (std::int64_t extent : shape)
    text.append(" ").append(std::to_string(extent));
  return text + (layout == Layout::padded ? " padded" : layout == Layout::permuted ? " permuted" : "");
}

template <typename Body> void forCases(const std::vector<Shape> &shapes, Body body) {
  for (DType dtype : floats)
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (const Shape &shape : shapes)
        body(dtype, shape, layout, label(dtype, shape, layout));
}

const std::vector<Shape> rowShapes = {{1}, {7}, {3, 5, 17}, {2, 8}, {5, 1}, {4, 65}, {2, 3, 129}, {1, 2500}, {0, 4}};

TEST(Agreement, Unary) {
  forCases(rowShapes, [](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
    for (const char *kernel : {"negate", "exp", "relu", "scale", "tanh", "sin", "cos", "erf"})
      compare({kernel, {}, 1, {number("factor", 0.37)}}, {Tensor(dtype, shape, layout).normal(1, 3)},
              {Tensor(dtype, shape, layout)}, 1, what);
    Tensor positive(dtype, shape, layout);
    positive.normal(2);
    for (std::int64_t i = 0; i < positive.size(); ++i)
      positive.set(i, std::fabs(positive.at(i)) + 0.01);
    for (const char *kernel : {"sqrt", "rsqrt", "log"})
      compare({kernel}, {positive}, {Tensor(dtype, shape, layout)}, 1, what);
  });
}

TEST(Agreement, BinaryWithBroadcasting) {
  const std::vector<std::pair<Shape, Shape>> pairs = {
      {{3, 5, 17}, {3, 5, 17}}, {{3, 5, 17}, {17}},   {{3, 5, 17}, {5, 1}}, {{3, 5, 17}, {}},
      {{1, 5, 1}, {3, 1, 17}},  {{5, 17}, {3, 5, 17}}, {{}, {9}},           {{}, {}}};
  for (DType dtype : floats)
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (const auto &[left, right] : pairs) {
        Shape out(std::max(left.size(), right.size()), 1);
        for (const Shape *side : {&left, &right})
          for (std::size_t d = 0; d < side->size(); ++d)
            out[out.size() - side->size() + d] = std::max(out[out.size() - side->size() + d], (*side)[d]);
        for (const char *kernel : {"add", "subtract", "multiply", "divide", "maximum"})
          compare({kernel}, {Tensor(dtype, left, layout).normal(3), Tensor(dtype, right, layout).normal(4)},
                  {Tensor(dtype, out, layout)}, 1, label(dtype, left, layout) + " and " + label(dtype, right, layout));
      }
}

TEST(Agreement, Casts) {
  for (DType from : {DType::f32, DType::bf16, DType::f64, DType::f16, DType::i32})
    for (DType to : {DType::f32, DType::bf16, DType::f64, DType::f16, DType::i64, DType::u8})
      for (Layout layout : {Layout::dense, Layout::padded})
        compare({"cast"}, {Tensor(from, {3, 37}, layout).normal(5, 30)}, {Tensor(to, {3, 37}, layout)}, 1,
                std::string(dtypeName(from)) + " to " + std::string(dtypeName(to)));
}

TEST(Agreement, Copies) {
  forCases(rowShapes, [](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
    for (Layout to : {Layout::dense, Layout::padded, Layout::permuted})
      compare({"copy"}, {Tensor(dtype, shape, layout).normal(6)}, {Tensor(dtype, shape, to)}, 1, what);
  });
  compare({"copy"}, {Tensor(DType::f32, {5, 1}).normal(7)}, {Tensor(DType::f32, {3, 5, 9})}, 1, "repeated");
  for (DType dtype : {DType::u8, DType::i32, DType::i64, DType::f16})
    compare({"copy"}, {Tensor(dtype, {4, 9}, Layout::permuted).below(8, 100)}, {Tensor(dtype, {4, 9})}, 1, "integers");
}

TEST(Agreement, Constant) {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8})
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      compare({"constant", {}, 1, {number("value", 3)}}, {}, {Tensor(dtype, {5, 7}, layout)}, 1, "");
}

TEST(Agreement, ReduceSum) {
  forCases({{3, 5, 17}, {200, 3}, {130, 700}, {4, 2, 1}},
           [](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
             double rows = static_cast<double>(shape[0] * shape[1]);
             std::vector<std::int64_t> leading = {0};
             Shape kept(shape.begin() + 1, shape.end());
             compare({"reduce_sum", {}, 1, {list("dims", leading)}}, {Tensor(dtype, shape, layout).normal(9)},
                     {Tensor(dtype == DType::bf16 ? DType::f32 : dtype, kept)}, rows, what);
             if (shape.size() == 3)
               compare({"reduce_sum", {}, 1, {list("dims", {1, 0})}}, {Tensor(dtype, shape, layout).normal(9)},
                       {Tensor(dtype, {shape[2]})}, rows, what);
           });
}

TEST(Agreement, Softmax) {
  forCases(rowShapes, [](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
    for (double spread : {1.0, 60.0})
      compare({"softmax"}, {Tensor(dtype, shape, layout).normal(10, spread)}, {Tensor(dtype, shape, layout)}, 8, what);
    compare({"softmax_grad"},
            {Tensor(dtype, shape, layout).normal(11), Tensor(dtype, shape, layout).normal(12)},
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
             }
           });
}

/// What is taken for the mean at first comes from the first elements: a row where those are all far off it.
TEST(Agreement, LayerNormOfFirstElementsFarOff) {
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
  forCases({{7}, {3, 5, 17}, {2, 8}, {5, 1}, {4, 65}, {60, 129}, {0, 4}},
           [](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
             Shape rows(shape.begin(), shape.end() - 1), columns = {shape.back()};
             DType statistics = dtype == DType::f64 ? DType::f64 : DType::f32;
             Tensor x = Tensor(dtype, shape, layout).normal(53), weight = Tensor(dtype, columns).normal(54);
             Tensor y(dtype, shape, layout), rstds(statistics, rows);
             compare({"rms_norm", {}, 1, {number("epsilon", 1e-5)}}, {x, weight}, {y, rstds}, 1, what);
             mustRun({"rms_norm", KernelFlavour::reference}, {&x, &weight}, {&y, &rstds});
             Tensor dy = Tensor(dtype, shape, layout).normal(55);
             // dx = (dy w - h mean(dy w h)) rstd: in a row of one element the terms all but cancel, and what is left
             // of them is their rounding.
             double terms = magnitude(dy.values()) * magnitude(weight.values()) * magnitude(rstds.values());
             compare({"rms_norm_grad"}, {dy, x, weight, rstds},
                     {Tensor(dtype, shape, layout), Tensor(statistics, columns)}, 60, what,
                     {shape.back() == 1 ? terms : 0});
           });
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
               compare({"rope", {}, 1, attributes}, {Tensor(dtype, shape, layout).normal(56)},
                       {Tensor(dtype, shape, layout)}, 4, what);
             });
}

TEST(Agreement, CrossEntropy) {
  for (auto [reduction, smoothing] : {std::pair(0, 0.), {1, 0.}, {0, 0.1}, {1, 0.4}})
    forCases({{9, 13}, {2, 5, 37}, {3, 2501}, {6, 1}, {0, 4}},
             [&](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
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
               // Of one class the loss is a logit less itself, added up in one order or another.
               compare({"cross_entropy", {}, 1, attributes}, {logits, targets}, {loss, lse}, 8, what,
                       {shape.back() == 1 ? magnitude(logits.values()) : 0});
               mustRun({"cross_entropy", KernelFlavour::reference, 1, attributes}, {&logits, &targets}, {&loss, &lse});
               compare({"cross_entropy_grad", {}, 1, attributes},
                       {scalar(DType::f32, 0.7), logits, targets, lse}, {Tensor(dtype, shape, layout)}, 8, what);
             });
}

TEST(Agreement, CrossEntropyGradientInPlace) {
  Tensor logits(DType::f32, {5, 33}), targets(DType::i32, {5}), lse(DType::f32, {5}), loss(DType::f32, {});
  logits.normal(23);
  targets.below(24, 33);
  mustRun({"cross_entropy"}, {&logits, &targets}, {&loss, &lse});
  Tensor dloss = scalar(DType::f32, 1), apart(DType::f32, {5, 33});
  mustRun({"cross_entropy_grad"}, {&dloss, &logits, &targets, &lse}, {&apart});
  mustRun({"cross_entropy_grad"}, {&dloss, &logits, &targets, &lse}, {&logits});
  EXPECT_EQ(apart.values(), logits.values());
}

TEST(Agreement, Attention) {
  struct Case {
    std::int64_t batch, queries, keys, heads, keyHeads, size;
  };
  for (const Case &c : {Case{2, 7, 7, 3, 3, 5}, Case{1, 130, 130, 2, 2, 16}, Case{2, 50, 50, 4, 2, 33},
                        Case{1, 1, 1, 1, 1, 4}, Case{1, 20, 70, 2, 1, 8}, Case{1, 70, 20, 2, 2, 8}, Case{1, 29, 70, 2, 1, 80},
                        Case{1, 100, 100, 1, 1, 64}, Case{1, 21, 21, 2, 1, 128}, Case{1, 9, 12, 1, 1, 256},
                        // Keys in more than two wide tiles.
                        Case{1, 26, 560, 1, 1, 8}})
    for (DType dtype : floats)
      for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
        // Full, causal, and causal with a window of so many.
        for (std::int64_t causal : {0, 1, 2, 19, 66}) {
          if ((layout != Layout::dense && c.queries >= 100) || (causal != 0 && c.keys < c.queries) ||
              (causal > 1 && (layout == Layout::permuted || c.queries >= 130)))
            continue;
          Shape q = {c.batch, c.queries, c.heads, c.size}, k = {c.batch, c.keys, c.keyHeads, c.size};
          Shape statisticShape = {c.batch, c.heads, c.queries};
          DType statistics = dtype == DType::f64 ? DType::f64 : DType::f32;
          std::vector<Attributes::Item> attributes = {integer("causal", causal != 0), number("scale", 0.3),
                                                     integer("window", causal > 1 ? causal : 0)};
          Tensor query(dtype, q, layout), key(dtype, k, layout), value(dtype, k, layout), out(dtype, q, layout);
          Tensor lse(statistics, statisticShape);
          query.normal(25), key.normal(26), value.normal(27);
          std::string what = label(dtype, q, layout) + " and " + label(dtype, k, layout) + (causal ? " causal, window " + std::to_string(causal) : "");
          // An exponential is off by its score's rounding. A score adds up `size` products that are of the order of 1
          // and is itself of the order of 0.3 sqrt(size): 2 sqrt(size) units are three deviations of it. In small
          // heads the sum over the keys decides.
          compare({"attention", {}, 1, attributes}, {query, key, value}, {out, lse},
                  static_cast<double>(std::max<std::int64_t>(60, 4 * c.size)), what);
          mustRun({"attention", KernelFlavour::reference, 1, attributes}, {&query, &key, &value}, {&out, &lse});
          compare({"attention_grad", {}, 1, attributes},
                  {Tensor(dtype, q, layout).normal(28), query, key, value, out, lse},
                  {Tensor(dtype, q, layout), Tensor(dtype, k, layout), Tensor(dtype, k, layout)}, 400, what);
        }
}

TEST(Agreement, Embedding) {
  for (DType dtype : floats)
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (const char *kernel : {"embedding", "gather"}) {
        Tensor indices(DType::i32, {3, 5});
        indices.below(29, 11);
        compare({kernel}, {Tensor(dtype, {11, 7}, layout).normal(30), indices}, {Tensor(dtype, {3, 5, 7}, layout)}, 1, "");
      }
  for (DType dtype : floats)
    for (DType to : floats)
      for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
        for (const char *kernel : {"embedding_grad", "scatter_add"}) {
          Tensor indices(DType::i32, {3, 50});
          indices.below(31, 11);
          compare({kernel}, {Tensor(dtype, {3, 50, 600}, layout).normal(32), indices}, {Tensor(to, {13, 600}, layout)},
                  40, label(dtype, {}, layout));
        }
}

TEST(Agreement, Matmul) {
  struct Case {
    Shape a, b, c;
    bool transposeA, transposeB;
  };
  const std::vector<Case> cases = {
      {{7, 13}, {13, 5}, {7, 5}, false, false},
      {{7, 13}, {5, 13}, {7, 5}, false, true},
      {{13, 7}, {13, 5}, {7, 5}, true, false},
      {{13, 7}, {5, 13}, {7, 5}, true, true},
      {{3, 7, 13}, {3, 13, 5}, {3, 7, 5}, false, false},
      {{3, 7, 13}, {13, 5}, {3, 7, 5}, false, false},
      {{2, 3, 7, 13}, {2, 1, 5, 13}, {2, 3, 7, 5}, false, true},
      {{1, 7, 13}, {3, 13, 5}, {3, 7, 5}, false, false},
      {{7, 1}, {1, 5}, {7, 5}, false, false},
      {{1, 13}, {13, 1}, {1, 1}, false, false},
      {{7, 0}, {0, 5}, {7, 5}, false, false},
      {{0, 3}, {3, 5}, {0, 5}, false, false},
      // More than one panel of a widened product along each dim, and exactly one.
      {{270, 40}, {40, 530}, {270, 530}, false, false},
      {{2, 150, 20}, {600, 20}, {2, 150, 600}, false, true},
      {{20, 1100}, {1100, 30}, {20, 30}, false, false},
      {{256, 8}, {8, 512}, {256, 512}, false, false},
      {{2048, 33}, {2048, 17}, {33, 17}, true, false},
  };
  for (DType dtype : floats)
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (const Case &c : cases)
        for (int extras = 0; extras < 4; ++extras) {
          bool bias = extras & 1, residual = extras & 2;
          std::int64_t work = c.c.back() * c.a.back() * c.a[c.a.size() - 2];
          if ((layout != Layout::dense && extras % 3) || (work > 500000 && (dtype == DType::f64 || extras % 3)))
            continue;
          std::int64_t k = c.transposeA ? c.a[c.a.size() - 2] : c.a.back();
          std::vector<Tensor> inputs = {Tensor(dtype, c.a, layout).normal(33), Tensor(dtype, c.b, layout).normal(34)};
          if (bias)
            inputs.push_back(Tensor(dtype, {c.c.back()}).normal(35));
          if (residual)
            inputs.push_back(Tensor(dtype, c.c, layout).normal(36));
          for (DType to : {dtype, DType::f32}) {
            if (dtype == DType::f64 && to != dtype)
              continue;
            compare({"matmul",
                     {},
                     1,
                     {integer("transpose_a", c.transposeA), integer("transpose_b", c.transposeB), integer("bias", bias),
                      integer("residual", residual)}},
                    inputs, {Tensor(to, c.c, layout)}, static_cast<double>(k),
                    label(dtype, c.a, layout) + " by " + label(dtype, c.b, layout) + " extras " +
                        std::to_string(extras));
          }
        }
}

TEST(Agreement, MatmulWithItsResidualInPlace) {
  Tensor a(DType::f32, {5, 9}), b(DType::f32, {9, 4}), c(DType::f32, {5, 4}), apart(DType::f32, {5, 4});
  a.normal(37), b.normal(38), c.normal(39);
  mustRun({"matmul", {}, 1, {integer("residual", 1)}}, {&a, &b, &c}, {&apart});
  mustRun({"matmul", {}, 1, {integer("residual", 1)}}, {&a, &b, &c}, {&c});
  EXPECT_EQ(apart.values(), c.values());
}

TEST(Agreement, AccumulateAndPowerSum) {
  for (DType from : floats)
    for (DType to : floats)
      for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
        for (std::int64_t first : {0, 1})
          compare({"accumulate", {}, 1, {integer("first", first)}}, {Tensor(from, {5, 37}, layout).normal(40)},
                  {Tensor(to, {5, 37}, layout).normal(41)}, 1, "");
  for (DType dtype : floats)
    for (double p : {1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()})
      compare({"power_sum", {}, 1, {number("p", p)}},
              {Tensor(dtype, {70, 333}).normal(42), Tensor(dtype, {9}).normal(43), Tensor(dtype, {3, 5}, Layout::padded).normal(44)},
              {Tensor(DType::f32, {})}, 1, "");
}

TEST(Agreement, Optimizers) {
  for (const char *kernel : {"sgd", "adam", "adamw"})
    for (DType gradient : {DType::f32, DType::bf16, DType::f16, DType::f64})
      for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
        for (std::int64_t step : {1, 5})
          for (double momentum : {0.0, 0.9}) {
            bool sgd = std::string(kernel) == "sgd";
            int states = !sgd ? 2 : momentum != 0 ? 1 : 0;
            Tensor parameter(DType::f32, {5, 37}, layout), square(DType::f32, {5, 37}, layout);
            parameter.normal(45), square.normal(46);
            for (std::int64_t i = 0; i < square.size(); ++i)
              square.set(i, square.at(i) * square.at(i));
            std::vector<Tensor> state = {Tensor(DType::f32, {5, 37}, layout).normal(47), square};
            std::vector<Tensor> inputs = {parameter, Tensor(gradient, {5, 37}, layout).normal(48)};
            std::vector<Tensor> outputs = {Tensor(DType::f32, {5, 37}, layout)};
            for (int i = 0; i < states; ++i) {
              inputs.push_back(state[static_cast<std::size_t>(i)]);
              outputs.emplace_back(DType::f32, Shape{5, 37}, layout);
            }
            Tensor number64(DType::i64, {});
            number64.set(0, static_cast<double>(step));
            inputs.push_back(scalar(DType::f32, 0.01));
            inputs.push_back(number64);
            inputs.push_back(scalar(DType::f32, 0.5));
            inputs.push_back(scalar(DType::u8, 1));
            compare({kernel, {}, 1, {number("momentum", momentum), number("weight_decay", 0.1), integer("nesterov", 1)}},
                    inputs, outputs, 1, "");
          }
}

} // namespace
