//===- AgreementProducts.cpp - attention, tables and matrix products ----------===//
#include "Agreement.h"
#include "Products.h"

#include "runtime/kernel/cpu/CpuKernels.h"

using namespace sluice;
using namespace sluice::test;

namespace {

TEST(Agreement, Attention) {
  struct Case {
    std::int64_t batch, queries, keys, heads, keyHeads, size;
  };
  for (const Case &c :
       {Case{2, 7, 7, 3, 3, 5}, Case{1, 130, 130, 2, 2, 16}, Case{2, 50, 50, 4, 2, 33}, Case{1, 1, 1, 1, 1, 4},
        Case{1, 20, 70, 2, 1, 8}, Case{1, 70, 20, 2, 2, 8}, Case{1, 29, 70, 2, 1, 80}, Case{1, 100, 100, 1, 1, 64},
        Case{1, 21, 21, 2, 1, 128}, Case{1, 9, 12, 1, 1, 256},
        // Keys in more than two wide tiles.
        Case{1, 26, 560, 1, 1, 8}})
    for (DType dtype : floats)
      for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
        // Full, causal, and causal with a window of this many tokens.
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
          std::string what = label(dtype, q, layout) + " and " + label(dtype, k, layout) +
                             (causal ? " causal, window " + std::to_string(causal) : "");
          // An exponential is off by its score's rounding. A score adds up `size` products that are of the order of 1
          // and is itself of the order of 0.3 sqrt(size): 2 sqrt(size) units are three deviations of it. In small
          // heads the sum over the keys decides. The derivative has the same exponentials.
          const auto units = [&c](std::int64_t sum) {
            return static_cast<double>(std::max<std::int64_t>(sum, 4 * c.size));
          };
          compare({"attention", {}, 1, attributes}, {query, key, value}, {out, lse}, units(60), what);
          mustRun({"attention", KernelFlavour::reference, 1, attributes}, {&query, &key, &value}, {&out, &lse});
          compare({"attention_grad", {}, 1, attributes},
                  {Tensor(dtype, q, layout).normal(28), query, key, value, out, lse},
                  {Tensor(dtype, q, layout), Tensor(dtype, k, layout), Tensor(dtype, k, layout)}, units(400), what);
        }
}

/// The dims of masks and biases of all or of shared rows of the batch, heads and queries.
std::vector<Shape> scoreShapes(std::int64_t batch, std::int64_t heads, std::int64_t queries, std::int64_t keys) {
  return {{batch, 1, 1, keys},   {1, heads, queries, keys}, {batch, heads, queries, keys},
          {1, 1, queries, keys}, {1, heads, 1, keys},       {batch, 1, queries, keys}};
}

TEST(Agreement, AttentionOfMasksAndBiases) {
  struct Case {
    std::int64_t batch, queries, keys, heads, keyHeads, size;
  };
  for (const Case &c :
       {Case{3, 7, 7, 4, 2, 5}, Case{2, 18, 70, 2, 1, 16}, Case{1, 1, 1, 1, 1, 4}, Case{2, 1, 9, 2, 2, 8},
        Case{1, 10, 300, 1, 1, 33}, Case{0, 3, 5, 2, 1, 4}, Case{2, 3, 0, 2, 1, 4}})
    for (DType dtype : floats)
      for (const Shape &mask : scoreShapes(c.batch, c.heads, c.queries, c.keys))
        for (const Shape &bias : scoreShapes(c.batch, c.heads, c.queries, c.keys))
          for (int with : {1, 2, 3}) {
            if (((with & 1) == 0 && mask[1] != c.heads) || ((with & 2) == 0 && bias[1] != c.heads))
              continue;
            const bool isCausal = c.keys >= c.queries && mask[2] == 1;
            const DType statistics = dtype == DType::f64 ? DType::f64 : DType::f32;
            const Shape q = {c.batch, c.queries, c.heads, c.size}, k = {c.batch, c.keys, c.keyHeads, c.size};
            std::vector<Attributes::Item> attributes = {number("scale", 0.3), integer("causal", isCausal),
                                                        integer("window", isCausal && bias[0] == 1 ? 3 : 0),
                                                        integer("masked", with & 1), integer("biased", with >> 1)};
            // The bias of values of 16 bits may be f32.
            const Tensor changes[] = {randomMask(mask, 50), randomBias(bias[2] == 1 ? statistics : dtype, bias, 51)};
            Tensor query = Tensor(dtype, q).normal(25), key = Tensor(dtype, k).normal(26),
                   value = Tensor(dtype, k).normal(27), out(dtype, q), lse(statistics, {c.batch, c.heads, c.queries});
            std::vector<Tensor> inputs = {query, key, value};
            for (int each : {0, 1})
              if ((with >> each & 1) != 0)
                inputs.push_back(changes[each]);
            const std::string what = label(dtype, mask, Layout::dense) + " and " + label(dtype, bias, Layout::dense);
            const double units = static_cast<double>(std::max<std::int64_t>(60, 4 * c.size));
            compare({"attention", {}, 1, attributes}, inputs, {out, lse}, units, what);
            std::vector<Tensor *> all;
            for (Tensor &input : inputs)
              all.push_back(&input);
            mustRun({"attention", KernelFlavour::reference, 1, attributes}, all, {&out, &lse});
            std::vector<Tensor> gradInputs = {Tensor(dtype, q).normal(28), query, key, value, out, lse},
                                gradients = {Tensor(dtype, q), Tensor(dtype, k), Tensor(dtype, k)};
            gradInputs.insert(gradInputs.end(), inputs.begin() + 3, inputs.end());
            if (with & 2) {
              attributes.push_back(integer("bias_grad", 1));
              gradients.push_back(Tensor(changes[1].operand.dtype, bias));
            }
            compare({"attention_grad", {}, 1, attributes}, gradInputs, gradients, 400, what);
          }
}

/// A row without keys has zeros, and so have keys that no query reads.
TEST(Agreement, AttentionOfHiddenRowsIsZero) {
  for (DType dtype : floats)
    for (KernelFlavour flavour : {KernelFlavour::fast, KernelFlavour::reference}) {
      const DType statistics = dtype == DType::f64 ? DType::f64 : DType::f32;
      const Shape q = {1, 3, 1, 4};
      Tensor query = Tensor(dtype, q).normal(1), out(dtype, q), lse(statistics, {1, 1, 3}),
             mask(DType::u8, {1, 1, 3, 3});
      mask.fill({1, 1, 0, 0, 0, 0, 1, 0, 0});
      const std::vector<Attributes::Item> attributes = {integer("masked", 1), number("scale", 0.5)};
      mustRun({"attention", flavour, 1, attributes}, {&query, &query, &query, &mask}, {&out, &lse});
      EXPECT_EQ(lse.at(1), -std::numeric_limits<double>::infinity());
      EXPECT_NE(out.at(0), 0);
      for (std::int64_t d = 4; d < 8; ++d)
        EXPECT_EQ(out.at(d), 0);
      Tensor dout = Tensor(dtype, q).normal(2), dq(dtype, q), dk(dtype, q), dv(dtype, q);
      mustRun({"attention_grad", flavour, 1, attributes}, {&dout, &query, &query, &query, &out, &lse, &mask},
              {&dq, &dk, &dv});
      for (std::int64_t d = 4; d < 8; ++d)
        EXPECT_EQ(dq.at(d), 0);
      // No query reads the last key.
      for (std::int64_t d = 8; d < 12; ++d) {
        EXPECT_EQ(dk.at(d), 0);
        EXPECT_EQ(dv.at(d), 0);
      }
      EXPECT_NE(dk.at(0), 0);
    }
}

TEST(Agreement, Embedding) {
  for (DType dtype : floats)
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (const char *kernel : {"embedding", "gather"}) {
        Tensor indices(DType::i32, {3, 5});
        indices.below(29, 11);
        compare({kernel}, {Tensor(dtype, {11, 7}, layout).normal(30), indices}, {Tensor(dtype, {3, 5, 7}, layout)}, 1,
                "");
      }
  for (DType dtype : floats)
    for (DType to : floats)
      for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
        for (const char *kernel : {"embedding_grad", "scatter_add"}) {
          Tensor indices(DType::i32, {3, 50});
          indices.below(31, 11);
          compare({kernel}, {Tensor(dtype, {3, 50, 600}, layout).normal(32), indices}, {Tensor(to, {13, 600}, layout)},
                  40, label(dtype, {}, layout));
          compare({kernel, {}, 1, {integer("padding", 4)}}, {Tensor(dtype, {3, 50, 600}, layout).normal(33), indices},
                  {Tensor(to, {13, 600}, layout)}, 40, label(dtype, {}, layout) + " with a padding row");
        }
}

TEST(Agreement, Matmul) {
  // More than one panel of a widened product along each dim, and exactly one.
  const std::vector<Product> products = smallProductsAnd({
      {{270, 40}, {40, 530}, {270, 530}},
      {{2, 150, 20}, {600, 20}, {2, 150, 600}, false, true},
      {{20, 1100}, {1100, 30}, {20, 30}},
      {{256, 8}, {8, 512}, {256, 512}},
      {{2048, 33}, {2048, 17}, {33, 17}, true, false},
  });
  for (DType dtype : floats)
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (const Product &c : products)
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

/// The stride of a dim of one element has no meaning: views have any.
TEST(Agreement, MatmulOfOneRowOrColumn) {
  const std::vector<Product> products = {{{7, 1}, {1, 5}, {7, 5}},
                                         {{1, 7}, {1, 5}, {7, 5}, true, false},
                                         {{7, 1}, {5, 1}, {7, 5}, false, true},
                                         {{1, 7}, {5, 1}, {7, 5}, true, true},
                                         {{1, 7}, {7, 5}, {1, 5}},
                                         {{7, 1}, {5, 7}, {1, 5}, true, true},
                                         {{6, 7}, {7, 1}, {6, 1}},
                                         {{7, 6}, {1, 7}, {6, 1}, true, true},
                                         {{1, 1}, {1, 1}, {1, 1}}};
  for (DType dtype : {DType::f32, DType::bf16})
    for (const Product &c : products)
      for (Layout layout : {Layout::dense, Layout::permuted})
        for (std::int64_t first : {0, 1, 3, 64})
          for (std::int64_t second : {0, 1, 3, 64}) {
            std::vector<Tensor> inputs = {Tensor(dtype, c.a, layout).normal(33), Tensor(dtype, c.b, layout).normal(34)};
            for (Tensor &input : inputs)
              for (int d : {0, 1})
                if (input.operand.extent[d] == 1)
                  input.operand.strides[d] = &input == &inputs[0] ? first : second;
            compare({"matmul", {}, 1, {integer("transpose_a", c.transposeA), integer("transpose_b", c.transposeB)}},
                    inputs, {Tensor(dtype, c.c)}, 8,
                    label(dtype, c.a, layout) + " by " + label(dtype, c.b, layout) + " strides " +
                        std::to_string(first) + " and " + std::to_string(second));
          }
}

/// An operand that is broadcast by strides of 0, as the gradient of a sum is, has a fast form.
TEST(Agreement, MatmulOfBroadcast) {
  struct Case {
    Product product;
    /// Dims of a and of b whose stride is 0.
    std::vector<int> a, b;
  };
  const Case cases[] = {
      {{{270, 40}, {40, 530}, {270, 530}}, {}, {0, 1}},
      {{{40, 270}, {40, 530}, {270, 530}, true, false}, {0, 1}, {}},
      {{{7, 13}, {13, 5}, {7, 5}}, {0}, {1}},
      {{{7, 13}, {13, 5}, {7, 5}}, {1}, {0}},
      {{{20, 1100}, {1100, 30}, {20, 30}}, {0, 1}, {0}},
      {{{3, 7, 13}, {5, 13}, {3, 7, 5}, false, true}, {0, 1, 2}, {}},
      {{{4, 1, 13}, {13, 5}, {4, 1, 5}}, {0}, {}},
      {{{7, 1}, {1, 5}, {7, 5}}, {0}, {1}},
  };
  for (DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (const Case &c : cases) {
      std::vector<Tensor> inputs = {Tensor(dtype, c.product.a), Tensor(dtype, c.product.b)};
      const std::vector<int> *repeated[] = {&c.a, &c.b};
      for (int i = 0; i < 2; ++i) {
        for (int d : *repeated[i])
          inputs[i].operand.strides[d] = 0;
        inputs[i].normal(70 + i);
      }
      const test::Run run = {"matmul",
                             {},
                             1,
                             {integer("transpose_a", c.product.transposeA),
                              integer("transpose_b", c.product.transposeB), integer("bias", 0),
                              integer("residual", 0)}};
      const Tensor output(dtype, c.product.c);
      const auto k = static_cast<double>(c.product.a[c.product.a.size() - (c.product.transposeA ? 2 : 1)]);
      compare(run, inputs, {output}, k, label(dtype, c.product.a, Layout::dense) + " broadcast");
      const Operand in[] = {inputs[0].operand, inputs[1].operand}, out[] = {output.operand};
      Attributes attributes(run.attributes);
      KernelRequest request{in, out, &attributes, 1, 0};
      request.workspace = workspaceCap("matmul", in, out, attributes, {"cpu", 1, testedIsa()});
      auto bound = cpu::fast::matmul(request);
      ASSERT_TRUE(bound.isOk()) << bound.status().message();
      EXPECT_NE(*bound, nullptr) << label(dtype, c.product.a, Layout::dense) << " uses the reference";
    }
}

/// A product followed by gelu has the bits of the two kernels; so do the references.
TEST(Agreement, MatmulGelu) {
  for (const Product &c : {Product{{7, 13}, {13, 5}, {7, 5}}, Product{{3, 7, 13}, {5, 13}, {3, 7, 5}, false, true},
                           Product{{3, 13, 7}, {1, 13, 5}, {3, 7, 5}, true, false}, Product{{0, 3}, {3, 5}, {0, 5}},
                           Product{{270, 40}, {40, 530}, {270, 530}}})
    for (DType dtype : floats)
      for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
        for (bool bias : {false, true}) {
          if (c.c.back() > 500 && (dtype == DType::f64 || layout == Layout::permuted))
            continue;
          const std::vector<Attributes::Item> attributes = {
              integer("transpose_a", c.transposeA), integer("transpose_b", c.transposeB), integer("bias", bias)};
          const std::vector<Attributes::Item> tanhForm = {integer("approximate", 1)};
          std::string what =
              label(dtype, c.a, layout) + " by " + label(dtype, c.b, layout) + (bias ? " with a bias" : "");
          Tensor a(dtype, c.a, layout), b(dtype, c.b, layout), v(dtype, {c.c.back()}), x(dtype, c.c, layout);
          a.normal(33), b.normal(34), v.normal(35), x.normal(36, 2);
          for (KernelFlavour flavour : {KernelFlavour::fast, KernelFlavour::reference}) {
            Tensor pre(dtype, c.c, layout), y(dtype, c.c, layout), product = pre, gelu = y;
            std::vector<Tensor *> inputs = {&a, &b};
            if (bias)
              inputs.push_back(&v);
            mustRun({"matmul_gelu", flavour, 1, attributes}, inputs, {&pre, &y});
            mustRun({"matmul", flavour, 1, attributes}, inputs, {&product});
            mustRun({"gelu", flavour, 1, tanhForm}, {&product}, {&gelu});
            EXPECT_EQ(pre.memory, product.memory) << what;
            EXPECT_EQ(y.memory, gelu.memory) << what;
            if (bias)
              continue;
            Tensor dx(dtype, c.c, layout), slope = dx;
            mustRun({"matmul_gelu_grad", flavour, 1, attributes}, {&a, &b, &x}, {&dx});
            mustRun({"gelu_grad", flavour, 1, tanhForm}, {&product, &x}, {&slope});
            EXPECT_EQ(dx.memory, slope.memory) << what;
          }
        }
}

TEST(Agreement, MatmulWithItsResidualInPlace) {
  Tensor a(DType::f32, {5, 9}), b(DType::f32, {9, 4}), c(DType::f32, {5, 4}), separate(DType::f32, {5, 4});
  a.normal(37), b.normal(38), c.normal(39);
  mustRun({"matmul", {}, 1, {integer("residual", 1)}}, {&a, &b, &c}, {&separate});
  mustRun({"matmul", {}, 1, {integer("residual", 1)}}, {&a, &b, &c}, {&c});
  EXPECT_EQ(separate.values(), c.values());
}

} // namespace
