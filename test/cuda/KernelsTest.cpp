//===- KernelsTest.cpp - the CUDA kernels' source, run on the host, against the references ----------------------===//
//
// Over types, layouts and odd sizes. KernelImagesTest.cpp has those of images, KernelNormsTest.cpp those of norms,
// KernelAttentionTest.cpp those of attention, KernelLossTest.cpp those of cross entropy, KernelHarness.h runs a case.
//
//===----------------------------------------------------------------------===//
#include "test/cuda/KernelHarness.h"

namespace sluice::test {
namespace {

const std::vector<Shape> shapes = {{1}, {3, 5, 17}, {5, 1}, {2, 3, 129}, {1, 1300}, {0, 4}};

TEST_F(CudaKernels, Pointwise) {
  forCases(shapes, [&](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
    const auto x = [&](unsigned seed, double spread = 1) { return Tensor(dtype, shape, layout).normal(seed, spread); };
    const Tensor y(dtype, shape, layout);
    for (const char *kernel : {"negate", "exp", "tanh", "erf", "sin", "cos", "relu", "sigmoid", "softplus", "silu"})
      compare({kernel}, {x(1, 2)}, {y}, 4, what);
    compare({"scale", {}, 1, {number("factor", 0.37)}}, {x(1)}, {y}, 1, what);
    Tensor positive = x(2);
    for (std::int64_t i = 0; i < positive.size(); ++i)
      positive.set(i, std::fabs(positive.at(i)) + 0.01);
    for (const char *kernel : {"sqrt", "rsqrt", "log"})
      compare({kernel}, {positive}, {y}, 4, what);
    for (double exponent : {2.0, 0.5, -0.5, 1.0, 1.7})
      compare({"power", {}, 1, {number("exponent", exponent)}}, {positive}, {y}, 16, what);
    for (const char *kernel : {"add", "subtract", "multiply", "divide", "maximum"})
      compare({kernel}, {x(3), positive}, {y}, 4, what);
    for (const char *kernel : {"relu_grad", "silu_grad", "swiglu"})
      compare({kernel}, {x(3), x(4, 3)}, {y}, 4, what);
    compare({"swiglu_grad"}, {x(3), x(4, 3), x(5)}, {y, y}, 8, what);
    for (std::int64_t form : {0, 1}) {
      compare({"gelu", {}, 1, {integer("approximate", form)}}, {x(6, 3)}, {y}, 4, what);
      compare({"gelu_grad", {}, 1, {integer("approximate", form)}}, {x(7), x(6, 3)}, {y}, 16, what);
    }
    compare({"running_average", {}, 1, {number("momentum", 0.3), number("factor", 1.2)}}, {x(8), x(9)}, {y}, 4, what);
    for (Layout to : {Layout::dense, Layout::permuted})
      compare({"copy"}, {x(10)}, {Tensor(dtype, shape, to)}, 1, what);
    compare({"constant", {}, 1, {number("value", 3)}}, {}, {y}, 1, what);
    for (std::int64_t first : {0, 1})
      compare({"accumulate", {}, 1, {integer("first", first)}}, {Tensor(DType::bf16, shape, layout).normal(11)},
              {x(12)}, 4, what);
  });
}

TEST_F(CudaKernels, Broadcasting) {
  const std::vector<std::pair<Shape, Shape>> pairs = {
      {{3, 5, 17}, {17}}, {{3, 5, 17}, {5, 1}}, {{3, 5, 17}, {}}, {{5, 17}, {3, 5, 17}}};
  for (DType dtype : {DType::f32, DType::i64, DType::i32})
    for (const auto &[left, right] : pairs) {
      const Shape &out = left.size() >= right.size() ? left : right;
      Tensor a(dtype, left), b(dtype, right);
      isFloat(dtype) ? a.normal(1) : a.below(1, 9);
      isFloat(dtype) ? b.normal(2) : b.below(2, 9);
      for (const char *kernel : {"add", "subtract", "multiply", "divide", "maximum"})
        compare({kernel}, {a, b}, {Tensor(dtype, out)}, 1, "broadcast");
      for (std::int64_t predicate = 0; predicate < 6; ++predicate)
        compare({"compare", {}, 1, {integer("predicate", predicate)}}, {a, b}, {Tensor(DType::u8, out)}, 1,
                "broadcast");
      compare({"select"}, {Tensor(DType::u8, out).below(3, 2), a, b}, {Tensor(dtype, out)}, 1, "broadcast");
    }
  compare({"count_up"}, {Tensor(DType::i64, {3}).below(4, 99)}, {Tensor(DType::i64, {3})}, 1, "");
  for (DType from : {DType::f32, DType::bf16, DType::f64, DType::f16, DType::i32})
    for (DType to : {DType::f32, DType::bf16, DType::f64, DType::f16, DType::i64, DType::u8})
      compare({"cast"}, {Tensor(from, {3, 37}).normal(5, 30)}, {Tensor(to, {3, 37})}, 1, "");
  for (DType from : {DType::f32, DType::bf16, DType::f64, DType::f16})
    compare({"cast"}, {Tensor(from, {4}).fill({0, 0.5, -0.25, std::nan("")})}, {Tensor(DType::u8, {4})}, 1, "booleans");
}

TEST_F(CudaKernels, Lists) {
  const auto drawn = [](DType type, const Shape &shape, Layout layout = Layout::dense) {
    return Tensor(type, shape, layout).normal(7, 30);
  };
  const DType f32 = DType::f32, bf16 = DType::bf16;
  compare({"cast"}, {drawn(f32, {3, 37}), drawn(f32, {0}), drawn(f32, {5}), drawn(f32, {64, 65})},
          {Tensor(bf16, {3, 37}), Tensor(bf16, {0}), Tensor(bf16, {5}), Tensor(bf16, {64, 65})}, 1, "dense");
  std::vector<Tensor> many, narrow;
  for (std::int64_t i = 0; i < 70; ++i) {
    many.push_back(drawn(f32, {i % 7 + 1, 9}));
    narrow.push_back(Tensor(bf16, {i % 7 + 1, 9}));
  }
  compare({"cast"}, many, narrow, 1, "more than the arguments of a launch hold");
  compare({"cast"}, {drawn(f32, {3, 37}), drawn(bf16, {5})}, {Tensor(bf16, {3, 37}), Tensor(f32, {5})}, 1,
          "of different types");
  const std::vector<Attributes::Item> theta = {number("theta", 1e4)};
  compare({"rope", {}, 1, theta}, {drawn(bf16, {2, 7, 3, 16}), drawn(bf16, {2, 7, 1, 16})},
          {Tensor(bf16, {2, 7, 3, 16}), Tensor(bf16, {2, 7, 1, 16})}, 4, "queries and keys");
  compare({"rope", {}, 1, theta}, {drawn(bf16, {2, 7, 3, 16}), drawn(f32, {2, 5, 1, 8})},
          {Tensor(bf16, {2, 7, 3, 16}), Tensor(f32, {2, 5, 1, 8})}, 4, "of different types");
}

TEST_F(CudaKernels, Movement) {
  for (DType dtype : {DType::f32, DType::bf16, DType::i64, DType::u8}) {
    const Tensor a = Tensor(dtype, {3, 2, 5}, Layout::padded).below(1, 90), b = Tensor(dtype, {3, 4, 5}).below(2, 90);
    compare({"concat", {}, 1, {integer("dim", 1)}}, {a, b}, {Tensor(dtype, {3, 6, 5})}, 1, "");
    Tensor part(dtype, {3, 2, 5});
    part.operand.origin[1] = 1;
    compare({"slice", {}, 1, {integer("dim", 1)}}, {b}, {part}, 1, "");
    compare(
        {"pad", {}, 1, {list("low", {1, 0, 2}), list("high", {0, 3, 1}), list("step", {1, 2, 1}), number("value", 7)}},
        {a}, {Tensor(dtype, {4, 6, 8})}, 1, "");
  }
}

TEST_F(CudaKernels, Reductions) {
  forCases({{3, 5, 17}, {200, 3}, {4, 2, 1}, {70, 130}},
           [&](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
             const Tensor x = Tensor(dtype, shape, layout).normal(9);
             const Shape kept(shape.begin() + 1, shape.end());
             for (const char *kernel : {"reduce_sum", "reduce_max"}) {
               compare({kernel, {}, 1, {list("dims", {0})}}, {x}, {Tensor(statisticsOf(dtype), kept)}, 16, what);
               Shape ones = shape;
               ones.back() = 1;
               const auto last = static_cast<std::int64_t>(shape.size()) - 1;
               compare({kernel, {}, 1, {list("dims", {last}), integer("mean", std::string(kernel) == "reduce_sum")}},
                       {x}, {Tensor(dtype, ones)}, 16, what);
             }
             Shape rows(shape.begin(), shape.end() - 1);
             compare({"logsumexp"}, {x}, {Tensor(statisticsOf(dtype), rows)}, 16, what);
           });
  for (DType dtype : {DType::f32, DType::bf16, DType::f64})
    for (double p : {1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()})
      compare({"power_sum", {}, 1, {number("p", p)}},
              {Tensor(dtype, {70, 333}).normal(42), Tensor(dtype, {9}).normal(43), Tensor(dtype, {0}),
               Tensor(dtype, {3, 5}, Layout::padded).normal(44)},
              {Tensor(DType::f32, {})}, 1, "");
  // More than fit one launch, of two types, some of many blocks, some empty or not dense.
  std::vector<Tensor> many;
  for (int i = 0; i < 230; ++i)
    many.push_back(
        Tensor(i % 3 ? DType::f32 : DType::bf16, {i % 7, i == 40 ? 9000 : 13}, i % 11 ? Layout::dense : Layout::padded)
            .normal(60 + i));
  compare({"power_sum"}, many, {Tensor(DType::f32, {})}, 1, "many");
  for (double p : {1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()})
    compare({"norm_root", {}, 1, {number("p", p)}}, {scalar(DType::f32, 7.3)}, {Tensor(DType::f32, {})}, 1, "");
  for (double norm : {0.2, 7.3, std::nan("")})
    compare({"clip_coefficient", {}, 1, {number("max_norm", 2)}}, {scalar(DType::f32, norm)}, {Tensor(DType::f32, {})},
            1, "");
  for (double bad : {1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    compare({"all_finite"}, {scalar(DType::f32, bad), scalar(DType::f32, 2), scalar(DType::f32, 3)},
            {Tensor(DType::u8, {})}, 1, "");
}

TEST_F(CudaKernels, Softmax) {
  // The last two are dense rows of one warp and of several, that the teams of a block do not divide.
  forCases({{1}, {3, 5, 17}, {5, 1}, {2, 1300}, {0, 4}, {9, 72}, {5, 1608}},
           [&](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
             const Tensor x = Tensor(dtype, shape, layout).normal(10, 20), y(dtype, shape, layout);
             compare({"softmax"}, {x}, {y}, 64, what);
             compare({"softmax_grad"},
                     {Tensor(dtype, shape, layout).normal(11), Tensor(dtype, shape, layout).normal(12)}, {y}, 400,
                     what);
           });
}

// Tests that a target that is no class gives NaN, that an index outside of the table does too, and that neither is
// read.
TEST_F(CudaKernels, IndicesOutOfRangeAreNaN) {
  std::vector<Tensor> in = {Tensor(DType::f32, {2, 3}).normal(1), Tensor(DType::i32, {2}).fill({1, 7})};
  std::vector<Tensor> out = {Tensor(DType::f32, {}), Tensor(DType::f32, {2})};
  ASSERT_TRUE(runOnDevice({"cross_entropy"}, in, out).isOk());
  EXPECT_TRUE(std::isnan(out[0].at(0)));
  std::vector<Tensor> table = {Tensor(DType::f32, {4, 3}).normal(1), Tensor(DType::i32, {2}).fill({3, -1})},
                      rows = {Tensor(DType::f32, {2, 3})};
  ASSERT_TRUE(runOnDevice({"embedding"}, table, rows).isOk());
  EXPECT_EQ(rows[0].at(0), table[0].at(9));
  EXPECT_TRUE(std::isnan(rows[0].at(3)));
}

TEST_F(CudaKernels, Indexed) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f64})
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted}) {
      for (const char *kernel : {"embedding", "gather"})
        compare({kernel}, {Tensor(dtype, {11, 7}, layout).normal(30), Tensor(DType::i32, {3, 5}).below(29, 11)},
                {Tensor(dtype, {3, 5, 7}, layout)}, 1, "");
      for (const char *kernel : {"embedding_grad", "scatter_add"})
        for (std::int64_t padding : {-1, 4})
          compare({kernel, {}, 1, {integer("padding", padding)}},
                  {Tensor(dtype, {3, 110, 300}, layout).normal(32), Tensor(DType::i64, {3, 110}).below(31, 11)},
                  {Tensor(statisticsOf(dtype), {13, 300}, layout)}, 100, "");
      const Tensor indices = Tensor(DType::i64, {4, 3, 5}).below(33, 6);
      compare({"take_along", {}, 1, {integer("dim", 1)}}, {Tensor(dtype, {4, 6, 5}, layout).normal(34), indices},
              {Tensor(dtype, {4, 3, 5}, layout)}, 1, "");
      compare({"add_along", {}, 1, {integer("dim", 1)}}, {Tensor(dtype, {4, 3, 5}, layout).normal(34), indices},
              {Tensor(dtype, {4, 6, 5}, layout)}, 4, "");
      compare({"argmax", {}, 1, {integer("dim", 1)}}, {Tensor(dtype, {4, 6, 5}, layout).normal(35)},
              {Tensor(DType::i64, {4, 5})}, 1, "");
    }
}

// Tests sums of many rows: several blocks sort the positions by both bytes of an index, one index is named by a tenth
// of the positions, and most rows by none.
TEST_F(CudaKernels, IndexedByBlocks) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f64})
    for (std::int64_t rows : {1500, 5000}) {
      Tensor indices = Tensor(DType::i32, {3300}).below(31, rows);
      for (std::int64_t i = 0; i < indices.size(); i += 10)
        indices.set(i, 300);
      for (const char *kernel : {"embedding_grad", "scatter_add"})
        compare({kernel, {}, 1, {integer("padding", -1)}}, {Tensor(dtype, {3300, 8}).normal(32), indices},
                {Tensor(statisticsOf(dtype), {rows, 8})}, 330, std::to_string(rows) + " rows");
    }
}

// Tests that an index into a sharded table reads the rank's rows and 0 for others, and adds only to the rank's rows.
TEST_F(CudaKernels, IndexedParts) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f64})
    for (std::int64_t first : {0, 6, 17}) {
      auto part = [&](std::vector<std::int64_t> shape, int dim) {
        Tensor made(dtype, std::move(shape));
        made.normal(30);
        made.operand.origin[dim] = first;
        made.operand.global[dim] = 28;
        return made;
      };
      const Tensor indices = Tensor(DType::i32, {3, 50}).below(29, 28);
      for (const char *kernel : {"embedding", "gather"})
        compare({kernel}, {part({11, 7}, 0), indices}, {Tensor(dtype, {3, 50, 7})}, 1, "");
      for (const char *kernel : {"embedding_grad", "scatter_add"})
        compare({kernel, {}, 1, {integer("padding", 9)}}, {Tensor(dtype, {3, 50, 30}).normal(32), indices},
                {part({11, 30}, 0)}, 100, "");
      const Tensor along = Tensor(DType::i64, {4, 3, 5}).below(33, 28);
      compare({"take_along", {}, 1, {integer("dim", 1)}}, {part({4, 11, 5}, 1), along}, {Tensor(dtype, {4, 3, 5})}, 1,
              "");
      compare({"add_along", {}, 1, {integer("dim", 1)}}, {Tensor(dtype, {4, 3, 5}).normal(34), along},
              {part({4, 11, 5}, 1)}, 4, "");
    }
}

TEST_F(CudaKernels, RandomNumbersAndDropout) {
  const Tensor seed = scalar(DType::i64, 42);
  for (DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    Tensor y(dtype, {5, 7});
    // The middle shard of three.
    y.operand.origin[0] = 5;
    y.operand.global[0] = 13;
    compare({"random_normal", {}, 1, {integer("key", 77), number("mean", 0.5), number("stddev", 0.02)}}, {seed}, {y}, 1,
            "");
    compare(
        {"random_uniform", {}, 1, {integer("key", 78), number("low", -1), number("high", 3), list("zeros", {1, 9})}},
        {seed}, {y}, 1, "");
    for (const char *kernel : {"random_normal", "random_uniform"})
      compare({kernel, {}, 1, {integer("key", 79)}}, {seed, scalar(DType::i64, 3), scalar(DType::i64, 12)}, {y}, 1, "");
    compare({"dropout", {}, 1, {number("rate", 0.3), integer("key", 5)}},
            {Tensor(dtype, {5, 7}).normal(1), seed, scalar(DType::i64, 3), scalar(DType::i64, 12)},
            {Tensor(dtype, {5, 7})}, 1, "");
  }
  for (DType dtype : {DType::i64, DType::f32})
    compare({"iota", {}, 1, {integer("dim", 1)}}, {}, {Tensor(dtype, {3, 8})}, 1, "");
}

TEST_F(CudaKernels, Rope) {
  for (const auto &attributes :
       std::vector<std::vector<Attributes::Item>>{{number("theta", 1e4)},
                                                  {number("theta", 1e4), number("factor", 8), number("low", 1),
                                                   number("high", 4), number("original", 32), integer("inverse", 1)}})
    forCases({{2, 7, 3, 8}, {2, 5, 1, 40}},
             [&](DType dtype, const Shape &shape, Layout layout, const std::string &what) {
               compare({"rope", {}, 1, attributes}, {Tensor(dtype, shape, layout).normal(56)},
                       {Tensor(dtype, shape, layout)}, 4, what);
             });
}

TEST_F(CudaKernels, Optimizers) {
  for (const char *kernel : {"sgd", "adam", "adamw"})
    for (DType gradient : {DType::f32, DType::bf16, DType::f64})
      for (std::int64_t step : {1, 5})
        for (double momentum : {0.0, 0.9})
          for (double guard : {0.0, 1.0}) {
            const bool sgd = std::string(kernel) == "sgd";
            const int states = !sgd ? 2 : momentum != 0 ? 1 : 0;
            Tensor square = Tensor(DType::f32, {5, 37}).normal(46);
            for (std::int64_t i = 0; i < square.size(); ++i)
              square.set(i, square.at(i) * square.at(i));
            std::vector<Tensor> inputs = {Tensor(DType::f32, {5, 37}).normal(45),
                                          Tensor(gradient, {5, 37}, Layout::padded).normal(48)};
            std::vector<Tensor> outputs = {inputs[0]};
            for (int s = 0; s < states; ++s) {
              inputs.push_back(s == 0 ? Tensor(DType::f32, {5, 37}).normal(47) : square);
              outputs.push_back(inputs.back());
            }
            inputs.push_back(scalar(DType::f32, 0.01));
            inputs.push_back(scalar(DType::i64, static_cast<double>(step)));
            inputs.push_back(scalar(DType::f32, 0.5));
            inputs.push_back(scalar(DType::u8, guard));
            compare({kernel,
                     {},
                     1,
                     {number("momentum", momentum), number("weight_decay", 0.1), integer("nesterov", step == 5)}},
                    inputs, outputs, 100, std::string(dtypeName(gradient)) + " step " + std::to_string(step));
          }
}

// Tests lists of parameters: more than fit one launch, of two types, some of many blocks, some empty or not dense.
TEST_F(CudaKernels, UpdatesOfLists) {
  for (const char *kernel : {"sgd", "adam", "adamw"})
    for (double guard : {0.0, 1.0}) {
      const bool sgd = std::string(kernel) == "sgd";
      std::vector<Tensor> inputs, outputs;
      for (int i = 0; i < 100; ++i) {
        const Shape shape = {i % 7, i == 40 ? 3000 : 13};
        const Layout layout = i % 11 ? Layout::dense : Layout::padded;
        const auto seed = static_cast<unsigned>(60 + 4 * i);
        inputs.push_back(Tensor(DType::f32, shape, layout).normal(seed));
        outputs.push_back(inputs.back());
        inputs.push_back(Tensor(i % 3 ? DType::f32 : DType::bf16, shape, layout).normal(seed + 1));
        for (unsigned s = 0; s < (sgd ? 1u : 2u); ++s) {
          inputs.push_back(Tensor(DType::f32, shape, layout).normal(seed + 2 + s));
          for (std::int64_t e = 0; e < inputs.back().size(); ++e)
            inputs.back().set(e, std::fabs(inputs.back().at(e)));
          outputs.push_back(inputs.back());
        }
      }
      inputs.push_back(scalar(DType::f32, 0.01));
      inputs.push_back(scalar(DType::i64, 5));
      inputs.push_back(scalar(DType::f32, 0.5));
      inputs.push_back(scalar(DType::u8, guard));
      compare({kernel, {}, 1, {number("momentum", 0.9), number("weight_decay", 0.1), integer("nesterov", 1)}}, inputs,
              outputs, 100, "list");
    }
}

// Tests that kernels refuse the same operands as the reference, with its messages, and a missing workspace.
TEST_F(CudaKernels, RefusesBadOperands) {
  std::vector<Tensor> in = {Tensor(DType::f32, {2, 3}), Tensor(DType::f32, {4})}, out = {Tensor(DType::f32, {2, 3})};
  const Status status = runOnDevice({"add"}, in, out);
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_EQ(status.message(), "kernel 'add' input 1 extents, expected [2 or 1, 3 or 1] but got [4]");
}

// Tests that CUDA's kernels refuse heads that do not fit a block's shared memory.
TEST_F(CudaKernels, RefusesHeadsThatDoNotFit) {
  const Shape q = {1, 2, 1, 300};
  std::vector<Tensor> in = {Tensor(DType::f64, q), Tensor(DType::f64, q), Tensor(DType::f64, q)};
  std::vector<Tensor> out = {Tensor(DType::f64, q), Tensor(DType::f64, {1, 1, 2})};
  EXPECT_EQ(runOnDevice({"attention"}, in, out).message(),
            "kernel 'attention' head size, expected at most 256 on cuda but got 300");
  std::vector<Tensor> x = {Tensor(DType::f32, {1, 2, 1, 600})}, y = x;
  EXPECT_EQ(runOnDevice({"rope", {}, 1, {number("theta", 1e4)}}, x, y).message(),
            "kernel 'rope' head size, expected at most 512 on cuda but got 600");
}

} // namespace
} // namespace sluice::test
