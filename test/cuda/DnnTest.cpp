//===- DnnTest.cpp - kernels by cuDNN's graphs against the references
//----------------------------------------------------===//
#include "runtime/kernel/catalogue/DnnAttention.h"
#include "runtime/kernel/cuda/DnnKernels.h"
#include "test/cuda/FakeDnn.h"
#include "test/cuda/KernelHarness.h"
#include "test/unit/kernel/Convolutions.h"

namespace sluice::test {
namespace {

class CudaDnn : public CudaKernels {
protected:
  void SetUp() override {
    CudaKernels::SetUp();
    use = std::make_shared<cuda::DnnUse>(cuda::DnnMode::automatic);
    ASSERT_TRUE(kernels->useDnn(use).isOk());
  }
  void TearDown() override {
    CudaKernels::TearDown();
    EXPECT_EQ(liveDnnObjects(), 0);
  }
  /// Like compare(), and expects the engine.
  void compareDnn(KernelRun run, const std::vector<Tensor> &inputs, const std::vector<Tensor> &outputs, double depth,
                  const std::string &what, double inner = 0) {
    FakeCuda::takeCalls();
    compare(run, inputs, outputs, depth, what, inner);
    const std::vector<FakeCall> calls = FakeCuda::takeCalls();
    ASSERT_EQ(calls.size(), 2U) << run.kernel << " " << what << ": " << reasons();
    // Pooling declares no workspace.
    for (const FakeCall &call : calls)
      EXPECT_EQ(call.name, run.kernel.find("pool") == std::string::npos ? "cudnn engine 45" : "cudnn engine 46")
          << run.kernel << " " << what;
  }
  std::string reasons() const {
    std::string all;
    for (const std::string &note : use->notes())
      all += note + "\n";
    return all;
  }
  /// The convolution of most tests.
  Status runPlain(DType dtype = DType::f32, std::uint64_t workspace = 4096) {
    std::vector<Tensor> in = {Tensor(dtype, {1, 8, 8, 16}).normal(1), Tensor(dtype, {16, 16, 3, 3}).normal(2)},
                        out = {Tensor(dtype, {1, 8, 8, 16})};
    const std::vector<Operand> inputs = {in[0].bound(), in[1].bound()}, outputs = {out[0].bound()};
    const Attributes attributes(
        {list("stride", {1, 1}), list("padding", {1, 1}), list("dilation", {1, 1}), integer("groups", 1)});
    KernelRequest request{inputs, outputs, &attributes, 1, workspace, kernels.get()};
    auto kernel = findCudaKernel("conv2d")(request);
    if (!kernel.isOk())
      return kernel.takeStatus();
    std::vector<char> scratch(workspace + 64);
    void *inData[] = {inputs[0].data, inputs[1].data}, *outData[] = {outputs[0].data};
    SLUICE_RETURN_IF_ERROR((*kernel)->enqueue(device->stream(0), inData, outData, scratch.data()));
    return device->synchronize();
  }
  void setMode(cuda::DnnMode mode) {
    use = std::make_shared<cuda::DnnUse>(mode);
    ASSERT_TRUE(kernels->useDnn(use).isOk());
  }

  std::shared_ptr<cuda::DnnUse> use;
};

const Convolution convolutions[] = {
    {"plain", {2, 8, 12, 4}, {4, 4, 3, 3}, {1, 1}, {0, 0}, {1, 1}, 1},
    {"wide", {1, 4, 6, 20}, {24, 20, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
    {"strided", {2, 9, 11, 8}, {4, 8, 3, 3}, {2, 3}, {1, 0}, {1, 1}, 1},
    {"dilated", {2, 9, 12, 2}, {8, 2, 3, 3}, {1, 1}, {1, 1}, {2, 2}, 1},
    {"groups", {2, 9, 12, 4}, {8, 2, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 2},
    {"depthwise", {2, 9, 11, 8}, {8, 1, 3, 3}, {1, 1}, {0, 0}, {1, 1}, 8},
    {"pointwise", {2, 4, 6, 4}, {2, 4, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
    {"patches", {1, 8, 16, 4}, {8, 4, 4, 4}, {4, 4}, {0, 0}, {1, 1}, 1},
};

TEST_F(CudaDnn, Convolutions) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (const Convolution &c : convolutions) {
        const bool withBias = c.weight[0] % 8 == 0;
        forConvolutionKernels(c, dtype, layout, withBias,
                              [&](const KernelRun &run, const auto &inputs, const auto &outputs, double terms) {
                                compareDnn(run, inputs, outputs, terms,
                                           std::string(c.name) + " " + std::string(dtypeName(dtype)));
                              });
      }
}

struct DnnHeads {
  std::int64_t batch, queries, keys, heads, keyHeads, size, causal, window;
};

const DnnHeads dnnHeads[] = {{2, 16, 16, 2, 2, 64, 1, 0}, {1, 24, 24, 4, 2, 64, 1, 0}, {1, 16, 40, 4, 1, 128, 1, 0},
                             {2, 8, 24, 2, 2, 16, 0, 0},  {1, 40, 8, 2, 2, 8, 0, 0},   {1, 32, 32, 2, 1, 64, 1, 5},
                             {1, 16, 40, 2, 2, 64, 1, 9}, {1, 16, 16, 1, 1, 64, 1, 40}};

/// Attributes of a launch for which the plan states cuDNN.
std::vector<Attributes::Item> statedDnn(const DnnHeads &c) {
  return {integer("causal", c.causal), number("scale", 0.3), integer("window", c.window), integer("cudnn", 1)};
}

// Tests groups of heads, lengths that differ, windows. Weights are rounded to the operands' type before they are
// multiplied.
TEST_F(CudaDnn, Attention) {
  for (DType dtype : {DType::bf16, DType::f16})
    for (const DnnHeads &c : dnnHeads) {
      const Shape q = {c.batch, c.queries, c.heads, c.size}, k = {c.batch, c.keys, c.keyHeads, c.size};
      compareDnn({"attention", {}, 1, statedDnn(c)},
                 {Tensor(dtype, q).normal(25), Tensor(dtype, k).normal(26), Tensor(dtype, k).normal(27)},
                 {Tensor(dtype, q), Tensor(DType::f32, {c.batch, c.heads, c.queries})}, 400,
                 std::string(dtypeName(dtype)) + " " + std::to_string(c.queries) + " by " + std::to_string(c.keys) +
                     " window " + std::to_string(c.window),
                 (dtype == DType::bf16 ? 0x1p-8 : 0x1p-11) / 45);
    }
}

// The same for the gradient, with all rows of the batch at once, and with one at a time.
TEST_F(CudaDnn, AttentionGrad) {
  for (DType dtype : {DType::bf16, DType::f16})
    for (const std::int64_t rows : {0, 1})
      for (const DnnHeads &c : dnnHeads) {
        const Shape q = {c.batch, c.queries, c.heads, c.size}, k = {c.batch, c.keys, c.keyHeads, c.size};
        std::vector<Attributes::Item> attributes = statedDnn(c);
        Tensor query = Tensor(dtype, q).normal(25), key = Tensor(dtype, k).normal(26),
               value = Tensor(dtype, k).normal(27);
        Tensor out(dtype, q), lse(DType::f32, {c.batch, c.heads, c.queries});
        mustRun({"attention", KernelFlavour::reference, 1, attributes}, {&query, &key, &value}, {&out, &lse});
        attributes.push_back(integer("rows", rows));
        FakeCuda::takeCalls();
        compare({"attention_grad", {}, 1, attributes}, {Tensor(dtype, q).normal(28), query, key, value, out, lse},
                {Tensor(dtype, q), Tensor(dtype, k), Tensor(dtype, k)}, 1600,
                std::string(dtypeName(dtype)) + " " + std::to_string(c.queries) + " by " + std::to_string(c.keys) +
                    " window " + std::to_string(c.window) + " rows " + std::to_string(rows),
                (dtype == DType::bf16 ? 0x1p-8 : 0x1p-11) / 45);
        const std::vector<FakeCall> calls = FakeCuda::takeCalls();
        EXPECT_EQ(calls.size(), rows == 0 ? 2U : 2U * static_cast<unsigned>(c.batch));
        for (const FakeCall &call : calls)
          EXPECT_EQ(call.name, "cudnn engine 45");
      }
}

// Tests that a launch without the attribute never runs by cuDNN, and that one with it never runs without.
TEST_F(CudaDnn, ThePlanChoosesAttention) {
  const auto run = [&](const char *kernel, DType dtype, const DnnHeads &c, std::vector<Attributes::Item> attributes) {
    const Shape q = {c.batch, c.queries, c.heads, c.size}, k = {c.batch, c.keys, c.keyHeads, c.size};
    Tensor query = Tensor(dtype, q).normal(25), key = Tensor(dtype, k).normal(26),
           lse(dtype == DType::f64 ? DType::f64 : DType::f32, {c.batch, c.heads, c.queries});
    std::vector<Tensor> in = {query, key, key}, out = {query, lse};
    if (std::string_view(kernel) == "attention_grad") {
      in = {query, query, key, key, query, lse};
      out = {query, key, key};
    }
    return runOnDevice({kernel, {}, 1, std::move(attributes)}, in, out).message();
  };
  const auto refusal = [](const std::string &kernel, const std::string &why) {
    return "kernel '" + kernel + "', which the plan computes by cuDNN: " + why;
  };
  const DnnHeads plain = {2, 16, 16, 2, 2, 64, 1, 0};
  std::vector<Attributes::Item> attributes = statedDnn(plain);
  attributes.back().integer = 0;
  setMode(cuda::DnnMode::on);
  FakeCuda::takeCalls();
  EXPECT_EQ(run("attention", DType::bf16, plain, attributes), "");
  EXPECT_EQ(FakeCuda::takeCalls().back().name, "sluice_attentionTensor64_bf16");
  EXPECT_EQ(reasons(), "");
  EXPECT_EQ(run("attention", DType::f32, plain, statedDnn(plain)),
            refusal("attention", "element types of attention, expected bf16 or f16 throughout and statistics in f32"));
  const auto sizes = [&](std::int64_t size) {
    const DnnHeads c = {1, 8, 8, 2, 2, size, 1, 0};
    return run("attention", DType::bf16, c, statedDnn(c));
  };
  EXPECT_EQ(sizes(136), refusal("attention", "head size, expected a multiple of 8 of at most 128 but got 136"));
  EXPECT_EQ(sizes(12), refusal("attention", "head size, expected a multiple of 8 of at most 128 but got 12"));
  attributes = statedDnn(plain);
  attributes.push_back(integer("rows", 3));
  EXPECT_EQ(run("attention_grad", DType::bf16, plain, attributes),
            refusal("attention_grad", "rows at a time, expected a divisor of 2 but got 3"));
  fakeDnn.preferred = {{12, {cuda::dnn::nondeterministic}, 0}};
  fakeDnn.fallback.clear();
  EXPECT_EQ(run("attention", DType::bf16, plain, statedDnn(plain)),
            refusal("attention",
                    "cudnn, expected an engine for the graph but engine 12: its results differ from run to run"));
  auto without = cuda::KernelContext::create(device->functions(), 0, false);
  ASSERT_TRUE(without.isOk());
  kernels = std::move(*without);
  EXPECT_EQ(run("attention", DType::bf16, plain, statedDnn(plain)),
            refusal("attention", "cudnn is off ('--cudnn off')"));
}

// Tests that NVIDIA states the determinism of the gradient for Hopper only.
TEST_F(CudaDnn, RefusesTheGradientOnOtherDevices) {
  cuda::Table ampere = device->functions();
  ampere.driver.deviceAttribute = [](int *value, int attribute, int) -> cuda::Code {
    return *value = attribute == cuda::attributeMajor ? 8 : 4, 0;
  };
  auto older = cuda::KernelContext::create(ampere, 0, false);
  ASSERT_TRUE(older.isOk());
  kernels = std::move(*older);
  ASSERT_TRUE(kernels->useDnn(use).isOk());
  Tensor q(DType::bf16, {1, 8, 1, 64}), lse(DType::f32, {1, 1, 8});
  std::vector<Tensor> in = {q, q, q, q, q, lse}, out = {q, q, q};
  EXPECT_EQ(runOnDevice({"attention_grad", {}, 1, statedDnn({1, 8, 8, 1, 1, 64, 1, 0})}, in, out).message(),
            "kernel 'attention_grad', which the plan computes by cuDNN: compute capability, expected 9.x but got 8.x");
  kernels.reset();
}

// Tests that heads are contiguous and rows begin at multiples of 16 bytes.
TEST_F(CudaDnn, RefusesStridesOfAttention) {
  Tensor row(DType::bf16, {1, 8, 2, 8}), lse(DType::f32, {1, 2, 8});
  std::vector<Operand> in = {row.bound(), row.bound(), row.bound()}, out = {row.bound(), lse.bound()};
  EXPECT_EQ(cuda::dnnAttentionProblem(in, out), "");
  in[1].strides[1] = 20;
  EXPECT_EQ(cuda::dnnAttentionProblem(in, out),
            "strides of attention, expected 1 within a head and multiples of 8 elsewhere");
  in[1].strides[1] = 24;
  EXPECT_EQ(cuda::dnnAttentionProblem(in, out), "");
  in[1].strides[3] = 8;
  EXPECT_NE(cuda::dnnAttentionProblem(in, out), "");
}

// Tests that positions have 32 bits; no tensor of that size is in memory.
TEST_F(CudaDnn, FallsBackForTooManyKeys) {
  Tensor row(DType::bf16, {1, 1, 1, 8}), lse(DType::f32, {1, 1, 1});
  std::vector<Operand> in = {row.bound(), row.bound(), row.bound()}, out = {row.bound(), lse.bound()};
  for (Operand *keys : {&in[1], &in[2]})
    keys->shape[1] = keys->extent[1] = keys->global[1] = (std::int64_t(1) << 30) + 1;
  const Attributes attributes({number("scale", 1), integer("causal", 0)});
  const KernelRequest request{in, out, &attributes, 1, 0, kernels.get()};
  EXPECT_EQ(cuda::checkDnnAttention(request).message(), "keys, expected at most 2^30 but got 1073741825");
}

struct DnnPool {
  Shape x, y;
  std::vector<std::int64_t> kernel, stride, padding;
  bool adaptive;
};

TEST_F(CudaDnn, Pooling) {
  const DnnPool pools[] = {{{2, 9, 11, 8}, {2, 5, 6, 8}, {3, 3}, {2, 2}, {1, 1}, false},
                           {{1, 8, 8, 16}, {1, 4, 4, 16}, {2, 2}, {2, 2}, {0, 0}, false},
                           {{1, 9, 8, 8}, {1, 3, 2, 8}, {2, 3}, {3, 4}, {0, 1}, false},
                           {{2, 6, 8, 8}, {2, 3, 2, 8}, {}, {}, {}, true},
                           {{2, 7, 5, 8}, {2, 1, 1, 8}, {}, {}, {}, true}};
  for (DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (Layout layout : {Layout::dense, Layout::permuted})
      for (const DnnPool &p : pools) {
        const std::vector<Attributes::Item> attributes = {list("kernel", p.kernel), list("stride", p.stride),
                                                          list("padding", p.padding), integer("adaptive", p.adaptive)};
        const std::string what = std::string(dtypeName(dtype)) + " " + std::to_string(p.x[1]);
        Tensor x = Tensor(dtype, p.x, layout).below(5, 7);
        x.set(3, std::nan(""));
        const Tensor dy = Tensor(dtype, p.y, layout).normal(6), numbers = Tensor(dtype, p.x, layout).normal(7);
        const double depth = dtype == DType::bf16 ? 0x1p30 : dtype == DType::f16 ? 0x1p24 : 16;
        for (std::int64_t without : {0, 1}) {
          auto means = attributes;
          means.push_back(integer("without_padding", without));
          compareDnn({"avg_pool2d", {}, 1, means}, {numbers}, {Tensor(dtype, p.y, layout)}, 16, what);
          compareDnn({"avg_pool2d_grad", {}, 1, means}, {dy}, {Tensor(dtype, p.x, layout)}, depth, what);
        }
        compareDnn({"max_pool2d", {}, 1, attributes}, {x}, {Tensor(dtype, p.y, layout)}, 1, what);
      }
}

TEST_F(CudaDnn, FallsBackForOtherPooling) {
  const auto reasonOf = [&](const char *kernel, DType dtype, const DnnPool &p) {
    setMode(cuda::DnnMode::automatic);
    compare({kernel,
             {},
             1,
             {list("kernel", p.kernel), list("stride", p.stride), list("padding", p.padding),
              integer("adaptive", p.adaptive)}},
            {Tensor(dtype, p.x).normal(1)}, {Tensor(dtype, p.y)}, 16, "other");
    const std::string why = reasons();
    return why.substr(why.find(": ") + 2);
  };
  EXPECT_EQ(reasonOf("avg_pool2d", DType::f32, {{2, 7, 5, 8}, {2, 3, 2, 8}, {}, {}, {}, true}),
            "adaptive windows, expected all of one size\n");
  EXPECT_EQ(reasonOf("max_pool2d", DType::f64, {{1, 8, 8, 16}, {1, 4, 4, 16}, {2, 2}, {2, 2}, {0, 0}, false}),
            "element type of a pooling, expected f32, bf16 or f16 but got f64\n");
}

// Tests that engines which are not deterministic, round more, need more workspace or have no plan are not used, and
// that the fallback's engines are tried last.
TEST_F(CudaDnn, ChoosesTheFirstEngineThatFits) {
  ASSERT_TRUE(runPlain().isOk());
  EXPECT_EQ(FakeCuda::takeCalls().back().name, "cudnn engine 45");
  ASSERT_TRUE(runPlain(DType::f32, 511).isOk());
  EXPECT_EQ(FakeCuda::takeCalls().back().name, "cudnn engine 46");
  fakeDnn.preferred.resize(5);
  ASSERT_TRUE(runPlain().isOk());
  EXPECT_EQ(FakeCuda::takeCalls().back().name, "cudnn engine 0");
  const std::vector<std::string> notes = use->notes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0],
            "kernel 'conv2d' by cudnn 9.19.0: engine 0 (1 launch), engine 45 (1 launch), engine 46 (1 launch)");
}

// Tests that f32 is rounded to TF32 only with the flag; other types use tensor cores.
TEST_F(CudaDnn, UsesTf32OnlyWithTheFlag) {
  fakeDnn.preferred = {{7, {cuda::dnn::tensorCores}, 0}};
  ASSERT_TRUE(runPlain().isOk());
  EXPECT_EQ(FakeCuda::takeCalls().back().name, "cudnn engine 0");
  ASSERT_TRUE(runPlain(DType::bf16).isOk());
  EXPECT_EQ(FakeCuda::takeCalls().back().name, "cudnn engine 7");
  auto rounding = cuda::KernelContext::create(device->functions(), 0, true);
  ASSERT_TRUE(rounding.isOk());
  kernels = std::move(*rounding);
  ASSERT_TRUE(kernels->useDnn(use).isOk());
  ASSERT_TRUE(runPlain().isOk());
  EXPECT_EQ(FakeCuda::takeCalls().back().name, "cudnn engine 7");
}

// Tests that Sluice's kernel runs if cuDNN has none, with the reason, and that `on` makes this an error.
TEST_F(CudaDnn, FallsBackToSluicesKernels) {
  fakeDnn.preferred = {{12, {cuda::dnn::nondeterministic}, 0}};
  fakeDnn.fallback.clear();
  ASSERT_TRUE(runPlain().isOk());
  EXPECT_EQ(FakeCuda::takeCalls().back().name, "sluice_convolution_f32");
  const std::string why = "cudnn, expected an engine for the graph but engine 12: its results differ from run to run";
  EXPECT_EQ(reasons(), "kernel 'conv2d' is not by cudnn (1 launch): " + why + "\n");
  setMode(cuda::DnnMode::on);
  const Status refused = runPlain();
  EXPECT_EQ(refused.code(), StatusCode::refused);
  EXPECT_EQ(refused.message(), "kernel 'conv2d' with --cudnn on: " + why);

  // No engine; a handle that cannot be created; a failure of a call.
  setMode(cuda::DnnMode::automatic);
  fakeDnn.preferred.clear();
  ASSERT_TRUE(runPlain().isOk());
  EXPECT_EQ(reasons(),
            "kernel 'conv2d' is not by cudnn (1 launch): cudnn, expected an engine for the graph but it has none\n");
  setMode(cuda::DnnMode::automatic);
  fakeDnn.preferred = {{16, {}, 0, 2000}};
  ASSERT_TRUE(runPlain().isOk());
  EXPECT_EQ(reasons(), "kernel 'conv2d' is not by cudnn (1 launch): cudnn, expected an engine for the graph but engine "
                       "16: cudnnBackendFinalize of a plan: "
                       "CUDNN_STATUS_BAD_PARAM (cudnn code 2000): this engine makes no plans\n");
}

TEST_F(CudaDnn, NamesTheCallThatFails) {
  fakeDnn.execute = 5000;
  EXPECT_EQ(runPlain().message(), "cudnnBackendExecute: CUDNN_STATUS (cudnn code 5000): the device has failed");
  auto fresh = cuda::KernelContext::create(device->functions(), 0, false);
  ASSERT_TRUE(fresh.isOk());
  kernels = std::move(*fresh);
  setMode(cuda::DnnMode::on);
  fakeDnn.create = 1001;
  EXPECT_EQ(runPlain().message(),
            "kernel 'conv2d' with --cudnn on: cudnnCreate: CUDNN_STATUS (cudnn code 1001): no context");
}

// Tests operands that no graph accepts: an address that is not a multiple of 16 bytes, also by strides; no elements.
TEST_F(CudaDnn, FallsBackForUnalignedOperands) {
  const auto reasonOf = [&](const Shape &x, const Shape &y) {
    setMode(cuda::DnnMode::automatic);
    KernelRun run{"conv2d",
                  {},
                  1,
                  {list("stride", {1, 1}), list("padding", {0, 0}), list("dilation", {1, 1}), integer("groups", 1)}};
    compare(run, {Tensor(DType::f32, x).normal(1), Tensor(DType::f32, {4, 4, 1, 1}).normal(2)}, {Tensor(DType::f32, y)},
            4, "odd");
    return reasons();
  };
  EXPECT_EQ(reasonOf({1, 2, 2, 4}, {1, 2, 2, 4}), "kernel 'conv2d' by cudnn 9.19.0: engine 45 (2 launches)\n");
  EXPECT_EQ(reasonOf({0, 2, 2, 4}, {0, 2, 2, 4}),
            "kernel 'conv2d' is not by cudnn (2 launches): extents and strides, expected at least 1\n");
  setMode(cuda::DnnMode::automatic);
  KernelRun run{"conv2d",
                {},
                1,
                {list("stride", {1, 1}), list("padding", {0, 0}), list("dilation", {1, 1}), integer("groups", 1)}};
  compare(run, {Tensor(DType::f32, {1, 3, 3, 3}).normal(1), Tensor(DType::f32, {4, 3, 1, 1}).normal(2)},
          {Tensor(DType::f32, {1, 3, 3, 4})}, 3, "odd");
  EXPECT_EQ(reasons(), "kernel 'conv2d' is not by cudnn (2 launches): address and length of an operand, expected "
                       "multiples of 16 bytes\n");
}

} // namespace
} // namespace sluice::test
