//===- KernelAttentionTest.cpp - attention and its derivative on a GPU, against the references ----------------===//
#include "test/cuda/KernelHarness.h"

namespace sluice::test {
namespace {

struct Heads {
  std::int64_t batch, queries, keys, heads, keyHeads, size;
};

class CudaAttention : public CudaKernels {
protected:
  /// Operands of an attention, with random queries, keys and values.
  struct Operands {
    Operands(const Heads &c, DType dtype, Layout layout = Layout::dense)
        : dtype(dtype), layout(layout), q{c.batch, c.queries, c.heads, c.size}, k{c.batch, c.keys, c.keyHeads, c.size},
          inputs{Tensor(dtype, q, layout).normal(25), Tensor(dtype, k, layout).normal(26),
                 Tensor(dtype, k, layout).normal(27)},
          out(dtype, q, layout), lse(statisticsOf(dtype), {c.batch, c.heads, c.queries}),
          what(std::string(dtypeName(dtype)) + " " + std::to_string(c.queries) + " by " + std::to_string(c.keys) +
               " of " + std::to_string(c.size)) {}

    DType dtype;
    Layout layout;
    Shape q, k;
    /// Queries, keys, values, and the operands that attributes give.
    std::vector<Tensor> inputs;
    Tensor out, lse;
    std::string what;
  };

  /// Attention and its derivative. `biasGradients`: that of the bias, if there is one; `inner` as in compare().
  void compareBoth(Operands operands, std::vector<Attributes::Item> attributes,
                   const std::vector<Tensor> &biasGradients = {}, double inner = 0) {
    auto &[dtype, layout, q, k, inputs, out, lse, what] = operands;
    compare({"attention", {}, 1, attributes}, inputs, {out, lse}, 400, what, inner);
    std::vector<Tensor *> all;
    for (Tensor &input : inputs)
      all.push_back(&input);
    mustRun({"attention", KernelFlavour::reference, 1, attributes}, all, {&out, &lse});
    std::vector<Tensor> gradInputs = {Tensor(dtype, q, layout).normal(28), inputs[0], inputs[1], inputs[2], out, lse},
                        gradients = {Tensor(dtype, q, layout), Tensor(dtype, k, layout), Tensor(dtype, k, layout)};
    gradInputs.insert(gradInputs.end(), inputs.begin() + 3, inputs.end());
    if (!biasGradients.empty())
      attributes.push_back(integer("bias_grad", 1));
    gradients.insert(gradients.end(), biasGradients.begin(), biasGradients.end());
    compare({"attention_grad", {}, 1, attributes}, gradInputs, gradients, 1600, what, inner);
  }

  void compareHeads(const Heads &c, DType dtype, Layout layout, std::int64_t causal, std::int64_t window,
                    double inner) {
    Operands operands(c, dtype, layout);
    operands.what += " causal " + std::to_string(causal) + " window " + std::to_string(window);
    compareBoth(operands, {integer("causal", causal), number("scale", 0.3), integer("window", window)}, {}, inner);
  }
};

TEST_F(CudaAttention, OfMasksAndBiases) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f64})
    for (const Shape &shape : {Shape{2, 1, 1, 35}, Shape{1, 4, 9, 35}, Shape{2, 4, 9, 35}, Shape{1, 1, 1, 35}})
      for (int with : {1, 2, 3}) {
        Operands operands({2, 9, 35, 4, 2, 8}, dtype);
        const DType biasType = shape[2] == 1 ? statisticsOf(dtype) : dtype;
        std::vector<Tensor> biasGradients;
        if (with & 1)
          operands.inputs.push_back(randomMask({2, 1, 9, 35}, 50));
        if (with & 2) {
          operands.inputs.push_back(randomBias(biasType, shape, 51));
          biasGradients.push_back(Tensor(biasType, shape));
        }
        operands.what +=
            " bias " + std::to_string(shape[0]) + " " + std::to_string(shape[1]) + " with " + std::to_string(with);
        compareBoth(operands,
                    {number("scale", 0.3), integer("causal", shape[1] == 1), integer("masked", with & 1),
                     integer("biased", with >> 1)},
                    biasGradients);
      }
}

TEST_F(CudaAttention, WithDropout) {
  for (const Heads &c : {Heads{2, 9, 35, 4, 2, 8}, Heads{1, 40, 40, 1, 1, 130}})
    for (DType dtype : {DType::f32, DType::bf16, DType::f64})
      for (bool isBiased : {false, true}) {
        Operands operands(c, dtype);
        // The second shard of the heads.
        operands.lse.operand.origin[1] = c.heads;
        operands.lse.operand.global[1] = 3 * c.heads;
        const Shape bias = {1, c.heads, c.queries, c.keys};
        std::vector<Tensor> biasGradients;
        if (isBiased) {
          operands.inputs.push_back(randomBias(dtype, bias, 51));
          biasGradients.push_back(Tensor(dtype, bias));
        }
        for (double drawnBy : {42, 3, 12})
          operands.inputs.push_back(scalar(DType::i64, drawnBy));
        compareBoth(operands,
                    {number("scale", 0.3), integer("causal", !isBiased), integer("biased", isBiased),
                     number("dropout", 0.3), integer("key", 6)},
                    biasGradients);
      }
}

TEST_F(CudaAttention, OfDocuments) {
  for (const Heads &c : {Heads{2, 40, 40, 4, 2, 8}, Heads{1, 70, 70, 1, 1, 64}})
    for (DType dtype : {DType::f32, DType::bf16, DType::f64})
      for (std::int64_t causal : {0, 1}) {
        Operands operands(c, dtype);
        Tensor documents(DType::i32, {c.batch, c.queries});
        for (std::int64_t i = 0; i < documents.size(); ++i) {
          const std::int64_t t = i % c.queries;
          documents.set(i, t < 33 ? 0 : t < 34 ? 33 : 34);
        }
        operands.inputs.push_back(documents);
        compareBoth(operands, {number("scale", 0.3), integer("causal", causal), integer("packed", 1)});
        compare({"rope", {}, 1, {number("theta", 100), integer("packed", 1)}}, {operands.inputs[0], documents},
                {Tensor(dtype, operands.q)}, 8, operands.what);
      }
}

TEST_F(CudaAttention, OnPlainCores) {
  for (const Heads &c : {Heads{2, 7, 7, 3, 3, 5}, Heads{1, 50, 50, 4, 2, 33}, Heads{1, 20, 70, 2, 1, 8},
                         Heads{1, 70, 20, 2, 2, 8}, Heads{1, 40, 40, 1, 1, 130}, Heads{1, 9, 9, 0, 1, 8}})
    for (DType dtype : {DType::f32, DType::f64})
      for (Layout layout : {Layout::dense, Layout::permuted})
        for (std::int64_t causal : {0, 1, 2, 19})
          if ((causal == 0 || c.keys >= c.queries) && (layout == Layout::dense || (c.queries <= 20 && causal <= 1)))
            compareHeads(c, dtype, layout, causal != 0, causal > 1 ? causal : 0, 0);
  compareHeads({1, 9, 9, 1, 1, 260}, DType::bf16, Layout::dense, 1, 0, 0);
}

// Tests heads, groups, windows and lengths that fill tiles and that do not. Masks are applied to
// scores in f32, so bf16 is tested with all of them and f16 with one. Weights are rounded to the type of the operands,
// so results are as exact as that is of the largest of them.
TEST_F(CudaAttention, OnTensorCores) {
  for (DType dtype : {DType::bf16, DType::f16}) {
    const double inner = (dtype == DType::bf16 ? 0x1p-8 : 0x1p-11) / 45;
    const bool hasMasks = dtype == DType::bf16;
    // Two heads per group over three tiles; the others against one window only.
    for (std::int64_t window : {0, 19, 90})
      if (window == 0 || hasMasks)
        compareHeads({1, 150, 150, 2, 1, 64}, dtype, Layout::dense, 1, window, inner);
    for (const Heads &c :
         {Heads{1, 64, 64, 1, 1, 64}, Heads{1, 37, 170, 2, 2, 64}, Heads{1, 70, 100, 1, 1, 128},
          Heads{1, 33, 70, 1, 1, 96}, Heads{1, 65, 66, 1, 1, 256}, Heads{1, 1, 1, 1, 1, 5}, Heads{1, 9, 9, 0, 1, 64}}) {
      compareHeads(c, dtype, Layout::dense, 0, 0, inner);
      if (hasMasks)
        compareHeads(c, dtype, Layout::dense, 1, c.keys > 19 ? 19 : 0, inner);
    }
    compareHeads({1, 70, 20, 2, 2, 64}, dtype, Layout::dense, 0, 0, inner);
    for (Layout layout : {Layout::padded, Layout::permuted})
      compareHeads({2, 35, 35, 2, 1, 48}, dtype, layout, 1, 0, inner);
  }
}

} // namespace
} // namespace sluice::test
