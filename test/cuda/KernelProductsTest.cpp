//===- KernelProductsTest.cpp - the CUDA kernels of matrix products against the references ----------------------===//
//
// Through a cuBLASLt in plain loops (FakeBlas.cpp). The calls show how a product with gelu is computed.
//
//===----------------------------------------------------------------------===//
#include "test/cuda/KernelHarness.h"
#include "test/unit/kernel/Products.h"

#include <algorithm>
#include <array>
#include <set>

namespace sluice::test {

/// In FakeBlas.cpp: its heuristic has no algorithm with GELU as epilogue.
extern bool fakeLacksGelu;

namespace {

/// The distance of neighbours of 1.
double unitOf(DType dtype) { return dtype == DType::bf16 ? 0x1p-8 : dtype == DType::f16 ? 0x1p-11 : 0x1p-23; }

/// compare()'s rounding within a product. Some algorithms of the real cuBLASLt (13.1) round the product to the type of
/// the result before they add a bias; compare() multiplies by 14.
double innerOf(DType to, bool realBias) {
  return realBias && (to == DType::bf16 || to == DType::f16) ? unitOf(to) / 14 : 0;
}

TEST_F(CudaKernels, Matmul) {
  const std::vector<Product> products = smallProductsAnd({{{90, 33}, {90, 17}, {33, 17}, true, false}});
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (const Product &c : products)
        for (int extras = 0; extras < 4; ++extras)
          for (DType to : {dtype, DType::f32}) {
            if (dtype == DType::f64 && to != dtype)
              continue;
            const bool bias = extras & 1, residual = extras & 2;
            std::vector<Tensor> inputs = {Tensor(dtype, c.a, layout).normal(33), Tensor(dtype, c.b, layout).normal(34)};
            if (bias)
              inputs.push_back(Tensor(dtype, {c.c.back()}).normal(35));
            if (residual)
              inputs.push_back(Tensor(dtype, c.c, layout).normal(36));
            compare({"matmul",
                     {},
                     1,
                     {integer("transpose_a", c.transposeA), integer("transpose_b", c.transposeB), integer("bias", bias),
                      integer("residual", residual)}},
                    inputs, {Tensor(to, c.c, layout)}, 100,
                    std::string(dtypeName(dtype)) + " extras " + std::to_string(extras), innerOf(to, onGpu() && bias));
          }
}

// Tests that a dim that is dense in aligned rows, but has an extent of no multiple of 16 bytes, is divided: the library
// computes two products, and their results are those of one.
TEST_F(CudaKernels, MatmulInParts) {
  const struct {
    const char *dim;
    Product product;
    Layout a, c;
  } cases[] = {{"n", {{40, 64}, {69, 64}, {40, 69}, false, true}, Layout::dense, Layout::padded},
               {"k", {{40, 69}, {69, 64}, {40, 64}, false, false}, Layout::padded, Layout::dense},
               {"k", {{3, 8, 69}, {64, 69}, {3, 8, 64}, false, true}, Layout::padded, Layout::dense},
               {"m", {{40, 69}, {40, 64}, {69, 64}, true, false}, Layout::padded, Layout::dense}};
  for (const DType dtype : {DType::bf16, DType::f16})
    for (const auto &[dim, c, aLayout, cLayout] : cases)
      for (int extras = 0; extras < 4; ++extras) {
        const bool bias = extras & 1, residual = extras & 2;
        std::vector<Tensor> inputs = {Tensor(dtype, c.a, aLayout).normal(33), Tensor(dtype, c.b).normal(34)};
        if (bias)
          inputs.push_back(Tensor(dtype, {c.c.back()}).normal(35));
        if (residual)
          inputs.push_back(Tensor(dtype, c.c, cLayout).normal(36));
        const std::string what = std::string(dtypeName(dtype)) + " " + dim + " extras " + std::to_string(extras);
        if (!onGpu())
          FakeCuda::takeCalls();
        // A sum over k rounds the remainder.
        compare({"matmul",
                 {},
                 1,
                 {integer("transpose_a", c.transposeA), integer("transpose_b", c.transposeB), integer("bias", bias),
                  integer("residual", residual)}},
                inputs, {Tensor(dtype, c.c, cLayout)}, 100, what,
                *dim == 'k' ? unitOf(dtype) / 14 : innerOf(dtype, onGpu() && bias));
        if (onGpu())
          continue;
        const std::vector<FakeCall> calls = FakeCuda::takeCalls();
        // compare() runs each kernel twice.
        EXPECT_EQ(std::ranges::count(calls, FakeCall::Kind::matmul, &FakeCall::kind), 4) << what;
      }
}

// Tests that a residual in the memory of the result gives the bits of one elsewhere.
TEST_F(CudaKernels, AResidualInPlaceChangesNoBit) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
    for (const bool bias : {false, true}) {
      const Tensor residual = Tensor(dtype, {64, 72}).normal(36);
      std::vector<Tensor> inputs = {Tensor(dtype, {64, 256}).normal(33), Tensor(dtype, {256, 72}).normal(34)};
      if (bias)
        inputs.push_back(Tensor(dtype, {72}).normal(35));
      const Attributes attributes({integer("bias", bias), integer("residual", 1)});
      const auto run = [&](bool inPlace) {
        std::uint64_t taken = 0;
        const auto bound = [&](Tensor &tensor) {
          Operand operand = tensor.bound();
          operand.data = place(tensor.memory, taken) + (static_cast<char *>(operand.data) - tensor.memory.data());
          return operand;
        };
        Tensor added = residual, result = residual;
        std::vector<Operand> in;
        for (Tensor &tensor : inputs)
          in.push_back(bound(tensor));
        const Operand out = bound(result);
        in.push_back(inPlace ? out : bound(added));
        KernelRequest request{in, {&out, 1}, &attributes, 1, 4096, kernels.get()};
        std::vector<char> memory(request.workspace + workspaceAlignment);
        char *scratch = place(memory, taken);
        scratch += workspaceAlignment - reinterpret_cast<std::uintptr_t>(scratch) % workspaceAlignment;
        auto kernel = findCudaKernel("matmul")(request);
        EXPECT_TRUE(kernel.isOk()) << kernel.status().message();
        std::vector<void *> addresses;
        for (const Operand &operand : in)
          addresses.push_back(operand.data);
        void *const to = out.data;
        EXPECT_TRUE((*kernel)->enqueue(device->stream(0), addresses, {&to, 1}, scratch).isOk());
        EXPECT_TRUE(device->synchronize().isOk());
        if (arena) {
          const std::size_t bytes = static_cast<std::size_t>(result.size()) * dtypeBytes(dtype);
          EXPECT_TRUE(device->read(result.bound().data, to, bytes).isOk());
        }
        return result.values();
      };
      EXPECT_EQ(run(true), run(false)) << dtypeName(dtype) << (bias ? " with a bias" : "");
    }
}

// Tests that a variable which no device code has is an error with its name.
TEST_F(CudaKernels, AMissingVariableIsAnError) {
  EXPECT_EQ(kernels->code().global("sluice_none").status().message(), "device code has no variable 'sluice_none'");
}

// Tests that products, also those within a chunked loss, leave SMs free, and that one SM is always used.
TEST_F(CudaKernels, ProductsHaveAnSmMargin) {
  if (onGpu())
    GTEST_SKIP() << "only the emulated device records what is requested";
  const int all = kernels->multiprocessors();
  const auto smCounts = [&](const KernelRun &run, std::vector<Tensor> inputs, std::vector<Tensor> outputs) {
    FakeCuda::takeCalls();
    const Status status = runOnDevice(run, inputs, outputs);
    EXPECT_TRUE(status.isOk()) << status.message();
    std::set<int> found;
    for (const FakeCall &call : FakeCuda::takeCalls())
      if (call.kind == FakeCall::Kind::matmul)
        found.insert(call.smCount);
    return found;
  };
  const Tensor a = Tensor(DType::f32, {4, 5}).normal(1), b = Tensor(DType::f32, {3, 5}).normal(2),
               targets = Tensor(DType::i32, {4}).below(3, 3), one(DType::f32, {}), rows(DType::f32, {4});
  for (const auto &[margin, count] : {std::pair(0u, 0), std::pair(2u, all - 2), std::pair(100000u, 1)}) {
    smMargin = margin;
    EXPECT_EQ(smCounts({"matmul", {}, 1, {integer("transpose_b", 1)}}, {a, b}, {Tensor(DType::f32, {4, 3})}),
              std::set<int>({count}));
    EXPECT_EQ(smCounts({"linear_cross_entropy", {}, 1, {integer("rows", 2)}}, {a, b, targets}, {one, rows}),
              std::set<int>({count}));
  }
}

class CudaMatmulGelu : public CudaKernels {
protected:
  void TearDown() override {
    fakeLacksGelu = false;
    CudaKernels::TearDown();
  }

  struct Case {
    Shape a, b, c;
    bool transposeA = false, transposeB = false;
    Layout layout = Layout::dense;
  };

  /// Both kernels, with a bias and without; with `launches` kernels of Sluice per run in addition to the product.
  void compareBoth(const Case &c, DType dtype, std::size_t launches, const std::string &what) {
    const bool narrow = dtype == DType::bf16 || dtype == DType::f16;
    // The reference applies GELU to the rounded product, the library to the unrounded one.
    const double inner = narrow ? (onGpu() ? innerOf(dtype, true) : unitOf(dtype) / 60) : 0;
    const std::vector<Attributes::Item> attributes = {integer("transpose_a", c.transposeA),
                                                      integer("transpose_b", c.transposeB)};
    const Tensor a = Tensor(dtype, c.a, c.layout).normal(33, 0.5), b = Tensor(dtype, c.b, c.layout).normal(34),
                 y(dtype, c.c, c.layout);
    const std::string named = std::string(dtypeName(dtype)) + " " + what;
    // compare() runs each twice.
    const auto expectCalls = [&](const std::string &kernel) {
      if (onGpu())
        return;
      std::size_t products = 0, others = 0;
      for (const FakeCall &call : FakeCuda::takeCalls()) {
        products += call.kind == FakeCall::Kind::matmul;
        others += call.kind == FakeCall::Kind::launch;
      }
      EXPECT_EQ(products, 2u) << kernel << " " << named;
      EXPECT_EQ(others, 2 * launches) << kernel << " " << named;
    };
    if (!onGpu())
      FakeCuda::takeCalls();
    for (const bool bias : {false, true}) {
      std::vector<Tensor> inputs = {a, b};
      if (bias)
        inputs.push_back(Tensor(dtype, {c.c.back()}).normal(35));
      std::vector<Attributes::Item> all = attributes;
      all.push_back(integer("bias", bias));
      compare({"matmul_gelu", {}, 1, all}, inputs, {y, y}, narrow ? 4 : 100, named + (bias ? " with a bias" : ""),
              inner);
      expectCalls("matmul_gelu");
    }
    compare({"matmul_gelu_grad", {}, 1, attributes}, {a, b, Tensor(dtype, c.c, c.layout).normal(36, 2)}, {y},
            narrow ? 4 : 100, named, inner);
    expectCalls("matmul_gelu_grad");
  }
};

// Tests the library's epilogues: rows at a multiple of 8 elements, in one product.
TEST_F(CudaMatmulGelu, IsAnEpilogue) {
  for (DType dtype : {DType::bf16, DType::f16})
    for (const Case &c :
         {Case{{7, 13}, {13, 16}, {7, 16}}, Case{{7, 13}, {24, 13}, {7, 24}, false, true},
          Case{{13, 7}, {13, 8}, {7, 8}, true}, Case{{3, 7, 13}, {13, 16}, {3, 7, 16}}, Case{{1, 13}, {13, 8}, {1, 8}},
          // Rows of 5 and of 13 at a distance of 8 and 16.
          Case{{7, 9}, {9, 5}, {7, 5}, false, false, Layout::padded},
          Case{{7, 9}, {9, 13}, {7, 13}, false, false, Layout::padded}})
      compareBoth(c, dtype, 0, "epilogue of " + std::to_string(c.c.back()));
}

// Tests that Sluice's gelu follows the product if the library has none: leading dimensions that are no multiple of 8,
// batches of products, a missing algorithm, and f32 and f64, whose gelu must be as exact as Sluice's.
TEST_F(CudaMatmulGelu, IsASeparateLaunch) {
  for (DType dtype : {DType::bf16, DType::f16})
    for (const Case &c : {Case{{7, 13}, {13, 20}, {7, 20}}, Case{{3, 7, 13}, {3, 13, 16}, {3, 7, 16}},
                          Case{{7, 9}, {9, 8}, {7, 8}, false, false, Layout::padded}})
      compareBoth(c, dtype, 1, "fallback of " + std::to_string(c.c.back()));
  for (DType dtype : {DType::f32, DType::f64})
    compareBoth({{7, 13}, {13, 16}, {7, 16}}, dtype, 1, "exact");
  fakeLacksGelu = true;
  compareBoth({{7, 13}, {13, 16}, {7, 16}}, DType::bf16, 1, "without an algorithm");
}

// Tests that the library does not get GELU's input at an address that is not a multiple of 16 bytes.
TEST_F(CudaMatmulGelu, IsASeparateLaunchIfUnaligned) {
  if (onGpu())
    GTEST_SKIP() << "only the emulated device says what it was asked for";
  std::vector<Tensor> inputs = {Tensor(DType::bf16, {7, 13}).normal(1), Tensor(DType::bf16, {13, 16}).normal(2),
                                Tensor(DType::bf16, {8, 16}).normal(3)};
  // The memory has one row more than the kernel reads.
  inputs[2].operand.extent[0] = inputs[2].operand.shape[0] = 7;
  std::vector<Operand> in;
  for (Tensor &tensor : inputs)
    in.push_back(tensor.bound());
  Tensor y(DType::bf16, {7, 16});
  const Operand out = y.bound();
  for (const std::ptrdiff_t bytes : {0, 2, 8}) {
    in[2].data = static_cast<char *>(inputs[2].bound().data) + bytes;
    const Attributes none;
    const KernelRequest request{in, {&out, 1}, &none, 1, 4096, kernels.get()};
    auto kernel = findCudaKernel("matmul_gelu_grad")(request);
    ASSERT_TRUE(kernel.isOk()) << kernel.status().message();
    std::vector<void *> addresses = {in[0].data, in[1].data, in[2].data};
    void *const result = out.data;
    alignas(workspaceAlignment) std::array<char, 4096> workspace;
    FakeCuda::takeCalls();
    ASSERT_TRUE((*kernel)->enqueue(device->stream(0), addresses, {&result, 1}, workspace.data()).isOk());
    ASSERT_TRUE(device->synchronize().isOk());
    std::size_t launches = 0;
    for (const FakeCall &call : FakeCuda::takeCalls())
      launches += call.kind == FakeCall::Kind::launch;
    EXPECT_EQ(launches, bytes == 0 ? 0u : 1u) << bytes;
  }
}

// Tests that f32 uses the library's epilogue if its inputs may be rounded to TF32.
TEST_F(CudaMatmulGelu, IsAnEpilogueUnderTf32) {
  if (onGpu())
    GTEST_SKIP() << "a GPU rounds to TF32, the reference does not";
  auto context = cuda::KernelContext::create(device->functions(), 0, true);
  ASSERT_TRUE(context.isOk()) << context.status().message();
  kernels = std::move(*context);
  compareBoth({{7, 13}, {13, 16}, {7, 16}}, DType::f32, 0, "tf32");
}

} // namespace
} // namespace sluice::test
