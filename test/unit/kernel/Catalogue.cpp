//===- Catalogue.cpp - names, caps and refusals -------------------------------===//
#include "Harness.h"

#include "runtime/kernel/catalogue/CpuWorkspace.h"
#include "runtime/kernel/cpu/Onednn.h"

#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

TEST(Catalogue, EveryEntryHasBothFlavours) {
  EXPECT_GE(catalogue().size(), 49u);
  for (const KernelRecord &entry : catalogue()) {
    EXPECT_NE(findCpuKernel(entry.name, KernelFlavour::fast), nullptr) << entry.name;
    EXPECT_NE(findCpuKernel(entry.name, KernelFlavour::reference), nullptr) << entry.name;
    EXPECT_EQ(findKernelRecord(entry.name), &entry) << "two entries are named " << entry.name;
  }
  EXPECT_EQ(findCpuKernel("no_such_kernel"), nullptr);
  EXPECT_EQ(findKernelRecord("no_such_kernel"), nullptr);
  EXPECT_GE(catalogueVersion(), 1u);
}

/// Kernels that run by their reference for all operands: this list may shrink and must not grow. A fast form
/// would not help kernels of one scalar or of an index.
TEST(Catalogue, RunByReference) {
  const std::set<std::string_view> byReference = {"add_along",  "all_finite",      "argmax", "clip_coefficient",
                                                  "cos",        "count_up",        "iota",   "norm_root",
                                                  "reduce_max", "running_average", "sin",    "take_along"};
  for (const KernelRecord &record : catalogue())
    EXPECT_EQ(record.cpu == CpuForm::reference, byReference.count(record.name) == 1) << record.name;
  for (std::string_view name : byReference)
    EXPECT_NE(findKernelRecord(name), nullptr) << name;
}

/// If the library has only its plain loop, there is no library product; if it has a better one that needs more memory
/// than the cap, that is an error.
TEST(Catalogue, PlainLoopOfTheLibraryIsNotUsed) {
  cpu::LibraryProduct::Problem p{7, 5, 3, 3, 1, 5, 1, 5, DType::f32, DType::f32};
  p.scratchpad = 1 << 16;
  auto product = cpu::LibraryProduct::make(p);
  ASSERT_TRUE(product.isOk()) << product.status().message();
  EXPECT_NE(*product, nullptr);
  // Every layout of the library is dense along m or along k.
  p.aM = 6, p.aK = 2;
  auto apart = cpu::LibraryProduct::make(p);
  ASSERT_TRUE(apart.isOk()) << apart.status().message();
  EXPECT_EQ(*apart, nullptr);
}

TEST(Catalogue, ReductionClasses) {
  EXPECT_EQ(findKernelRecord("matmul")->reduction, KernelReduction::fixed);
  EXPECT_EQ(findKernelRecord("layer_norm")->reduction, KernelReduction::ordered);
  EXPECT_EQ(findKernelRecord("add")->reduction, KernelReduction::not_a_reduction);
}

/// The memory of kernels is within the cap: the harness prepares with exactly the cap. This test has many shapes and
/// runs no kernel.
Status prepareWithCap(const std::string &kernel, std::vector<Operand> in, std::vector<Operand> out,
                      std::vector<Attributes::Item> items, int threads) {
  Attributes attributes(std::move(items));
  const std::string &isa = testedIsa();
  KernelRequest request{in, out, &attributes, threads,
                        workspaceCap(kernel, in, out, attributes, {"cpu", threads, isa})};
  auto bound = findCpuKernel(kernel)(request);
  return bound.isOk() ? Status::ok() : bound.takeStatus();
}

TEST(Catalogue, MatmulFitsItsCap) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (int threads : {1, 2, 4})
      for (std::int64_t m : {1, 16, 1000, 4096})
        for (std::int64_t n : {1, 64, 768, 5000})
          for (std::int64_t k : {1, 64, 384, 3072})
            for (int form = 0; form < 8; ++form) {
              bool ta = form & 1, tb = form & 2, bias = form & 4;
              std::vector<Operand> in = {Operand::dense(dtype, ta ? Shape{k, m} : Shape{m, k}),
                                         Operand::dense(dtype, tb ? Shape{n, k} : Shape{k, n})};
              if (bias)
                in.push_back(Operand::dense(dtype, {n}));
              Status status = prepareWithCap(
                  "matmul", in, {Operand::dense(dtype, {m, n})},
                  {integer("transpose_a", ta), integer("transpose_b", tb), integer("bias", bias)}, threads);
              ASSERT_TRUE(status.isOk()) << m << " " << n << " " << k << ": " << status.message();
              if (m > 1000 || n > 1000)
                continue;
              const Operand c = Operand::dense(dtype, {m, n});
              const std::vector<Attributes::Item> attributes = {integer("transpose_a", ta), integer("transpose_b", tb)};
              std::vector<Attributes::Item> all = attributes;
              all.push_back(integer("bias", bias));
              status = prepareWithCap("matmul_gelu", in, {c, c}, all, threads);
              ASSERT_TRUE(status.isOk()) << m << " " << n << " " << k << ": " << status.message();
              status = prepareWithCap("matmul_gelu_grad", {in[0], in[1], c}, {c}, attributes, threads);
              ASSERT_TRUE(status.isOk()) << m << " " << n << " " << k << ": " << status.message();
            }
}

TEST(Catalogue, AttentionFitsItsCap) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (int threads : {1, 4})
      for (std::int64_t tokens : {1, 63, 64, 1000})
        for (std::int64_t size : {1, 5, 64, 128}) {
          Operand q = Operand::dense(dtype, {2, tokens, 4, size}), k = Operand::dense(dtype, {2, tokens, 2, size});
          Operand lse = Operand::dense(DType::f32, {2, 4, tokens});
          EXPECT_TRUE(prepareWithCap("attention", {q, k, k}, {q, lse}, {}, threads).isOk());
          EXPECT_TRUE(prepareWithCap("attention_grad", {q, q, k, k, q, lse}, {q, k, k}, {}, threads).isOk());
        }
}

/// Prepares with the cap less one byte.
std::string refusalWithout(const std::string &kernel, std::vector<Operand> in, std::vector<Operand> out) {
  Attributes attributes;
  std::uint64_t cap = workspaceCap(kernel, in, out, attributes, {"cpu", 1, "avx2"});
  KernelRequest request{in, out, &attributes, 1, cap - 1};
  auto bound = findCpuKernel(kernel)(request);
  return bound.isOk() ? "" : bound.status().message();
}

TEST(Catalogue, TooLittleWorkspaceIsRefused) {
  Operand x = Operand::dense(DType::f32, {4, 8}), row = Operand::dense(DType::f32, {4}),
          column = Operand::dense(DType::f32, {8});
  EXPECT_EQ(refusalWithout("layer_norm_grad", {x, x, column, row, row}, {x, column, column}),
            "kernel 'layer_norm_grad' workspace, expected at least 1024 bytes but got 1023");
  EXPECT_EQ(
      refusalWithout("cross_entropy", {x, Operand::dense(DType::i32, {4})}, {Operand::dense(DType::f32, {}), row}),
      "kernel 'cross_entropy' workspace, expected at least 32 bytes but got 31");
  EXPECT_EQ(
      refusalWithout("embedding_grad", {x, Operand::dense(DType::i32, {4})}, {Operand::dense(DType::f32, {9, 8})}),
      "kernel 'embedding_grad' workspace, expected at least 32 bytes but got 31");
  Operand q = Operand::dense(DType::f32, {1, 8, 1, 8}), lse = Operand::dense(DType::f32, {1, 1, 8});
  EXPECT_NE(refusalWithout("attention", {q, q, q}, {q, lse}), "");
  EXPECT_NE(refusalWithout("attention_grad", {q, q, q, q, q, lse}, {q, q, q}), "");
}

/// The message of the refusal to prepare, for both flavours.
std::string refusal(const std::string &kernel, std::vector<Operand> in, std::vector<Operand> out,
                    std::vector<Attributes::Item> items = {}) {
  Attributes attributes(std::move(items));
  KernelRequest request{in, out, &attributes, 1, 1 << 20};
  std::string messages[2];
  for (int i = 0; i < 2; ++i) {
    auto bound = findCpuKernel(kernel, i ? KernelFlavour::reference : KernelFlavour::fast)(request);
    messages[i] = bound.isOk() ? "accepted" : bound.status().message();
    if (!bound.isOk()) {
      EXPECT_EQ(bound.status().code(), StatusCode::refused);
    }
  }
  EXPECT_EQ(messages[0], messages[1]);
  return messages[0];
}

TEST(Catalogue, RefusesBadOperands) {
  auto f32 = [](const Shape &shape) { return Operand::dense(DType::f32, shape); };
  EXPECT_EQ(refusal("add", {f32({3})}, {f32({3})}), "kernel 'add' inputs, expected 2 but got 1");
  EXPECT_EQ(refusal("add", {f32({3}), f32({3})}, {}), "kernel 'add' outputs, expected 1 but got 0");
  EXPECT_EQ(refusal("power_sum", {}, {f32({})}), "kernel 'power_sum' inputs, expected at least 1 but got 0");
  EXPECT_EQ(refusal("concat", {f32({3})}, {}), "kernel 'concat' outputs, expected 1 but got 0");
  EXPECT_EQ(refusal("exp", {Operand::dense(DType::i32, {3})}, {f32({3})}),
            "kernel 'exp' input 0 dtype, expected f32, f64, bf16 or f16 but got i32");
  EXPECT_EQ(refusal("add", {f32({3}), f32({4})}, {f32({3})}),
            "kernel 'add' input 1 extents, expected [3 or 1] but got [4]");
  EXPECT_EQ(refusal("copy", {f32({3})}, {Operand::dense(DType::bf16, {3})}),
            "kernel 'copy' input 0 dtype, expected bf16 but got f32");
  EXPECT_EQ(refusal("gelu", {f32({3, 4})}, {f32({3, 5})}),
            "kernel 'gelu' output 0 extents, expected [3, 4] but got [3, 5]");
  EXPECT_EQ(refusal("compare", {f32({3}), f32({3})}, {Operand::dense(DType::u8, {3})}, {integer("predicate", 9)}),
            "kernel 'compare' predicate, expected 0 to 5 but got 9");
  EXPECT_EQ(refusal("iota", {}, {f32({3})}, {integer("dim", 1)}),
            "kernel 'iota' dim 1 is not a dim of an operand of rank 1");
  EXPECT_EQ(refusal("concat", {f32({3})}, {f32({3})}, {integer("dim", -1)}),
            "kernel 'concat' dim -1 is not a dim of an operand of rank 1");
  EXPECT_EQ(refusal("concat", {f32({3}), f32({2})}, {f32({6})}),
            "kernel 'concat' output 0 extent of dim 0, expected 5 but got 6");
  EXPECT_EQ(refusal("pad", {f32({3})}, {f32({5})}),
            "kernel 'pad' low and high, expected 1 numbers each but got 0 and 0");
  EXPECT_EQ(refusal("pad", {f32({3})}, {f32({2})}, {list("low", {0}), list("high", {-1})}),
            "kernel 'pad' padding, expected no negative number but got -1");
  EXPECT_EQ(refusal("reduce_sum", {f32({3, 4})}, {f32({3, 4})}, {list("dims", {2})}),
            "kernel 'reduce_sum' dims, expected distinct dims below 2 but got 2");
  for (const char *kernel : {"random_normal", "random_uniform"})
    EXPECT_EQ(refusal(kernel, {Operand::dense(DType::i64, {})}, {f32({3})}, {list("zeros", {1})}),
              std::string("kernel '") + kernel + "' zeros, expected a first and a last index but got 1 numbers");
  EXPECT_EQ(refusal("embedding", {f32({9, 8}), f32({4})}, {f32({4, 8})}),
            "kernel 'embedding' input 1 dtype, expected i32, i64 or u8 but got f32");
  EXPECT_EQ(refusal("matmul", {f32({3, 4}), f32({5, 6})}, {f32({3, 6})}),
            "kernel 'matmul' input 1 extents, expected [4, 6] but got [5, 6]");
  EXPECT_EQ(refusal("matmul", {f32({3}), f32({3, 6})}, {f32({3, 6})}),
            "kernel 'matmul' input 0 extents, expected [3, k] but got [3]");
  EXPECT_EQ(refusal("matmul_gelu", {f32({3, 4}), f32({4, 6}), f32({6})}, {f32({3, 6}), f32({3, 6})}),
            "kernel 'matmul_gelu' inputs, expected 2 but got 3");
  EXPECT_EQ(refusal("matmul_gelu", {f32({3, 4}), f32({4, 6})}, {f32({3, 6}), f32({3, 5})}),
            "kernel 'matmul_gelu' output 1 extents, expected [3, 6] but got [3, 5]");
  EXPECT_EQ(refusal("matmul_gelu_grad", {f32({3, 4}), f32({4, 6}), Operand::dense(DType::bf16, {3, 6})}, {f32({3, 6})}),
            "kernel 'matmul_gelu_grad' input 2 dtype, expected f32 but got bf16");
  EXPECT_EQ(refusal("matmul_gelu_grad", {f32({3, 4}), f32({4, 6}), f32({6, 3})}, {f32({3, 6})}),
            "kernel 'matmul_gelu_grad' output 0 extents, expected [6, 3] but got [3, 6]");
  EXPECT_EQ(refusal("power_sum", {f32({3})}, {f32({})}, {number("p", -1)}),
            "kernel 'power_sum' p, expected a positive number but got -1.000000");
  EXPECT_EQ(refusal("norm_root", {f32({3})}, {f32({})}),
            "kernel 'norm_root' input 0 extents, expected one element but got [3]");
  Operand q = f32({1, 8, 3, 8}), k = f32({1, 8, 2, 8}), lse = f32({1, 3, 8}), wide = f32({1, 8, 3, 600});
  EXPECT_EQ(refusal("attention", {q, k, k}, {q, lse}),
            "kernel 'attention' output 0 extents, expected [1, 8, a multiple of 2, 8] but got [1, 8, 3, 8]");
  EXPECT_EQ(refusal("attention", {wide, wide, wide}, {wide, lse}),
            "kernel 'attention' head size, expected 1 to 512 but got 600");
  Operand few = f32({1, 7, 3, 8});
  EXPECT_EQ(refusal("attention", {q, few, few}, {q, lse}, {integer("causal", 1)}),
            "kernel 'attention' keys, expected at least 8 for causal rows but got 7");
  EXPECT_EQ(refusal("attention", {q, q, q}, {q, lse}, {integer("window", 3)}),
            "kernel 'attention' window, expected 0, or a positive number with causal, but got 3");
  EXPECT_EQ(refusal("attention", {q, q, q, f32({1, 3, 8, 8})}, {q, lse}, {integer("masked", 1)}),
            "kernel 'attention' input 3 dtype, expected u8 but got f32");
  EXPECT_EQ(refusal("attention", {q, q, q, f32({1, 2, 8, 8})}, {q, lse}, {integer("biased", 1)}),
            "kernel 'attention' input 3 extents, expected [1 or 1, 3 or 1, 8 or 1, 8] but got [1, 2, 8, 8]");
  EXPECT_EQ(refusal("attention", {q, q, q, f32({1, 3, 8, 8})}, {q, lse}),
            "kernel 'attention' inputs, expected 3 but got 4");
  EXPECT_EQ(refusal("rope", {f32({1, 8, 3, 7})}, {f32({1, 8, 3, 7})}, {number("theta", 1e4)}),
            "kernel 'rope' head size, expected an even number above 0 but got 7");
  EXPECT_EQ(refusal("rope", {f32({1, 8, 3, 8})}, {f32({1, 8, 3, 8})}, {number("theta", -1)}),
            "kernel 'rope' theta and factor, expected positive numbers but got -1.000000 and 1.000000");
  EXPECT_EQ(refusal("rope", {f32({1, 8, 3, 8})}, {f32({1, 8, 3, 8})}, {number("theta", 1e4), list("divisors", {1, 2})}),
            "kernel 'rope' divisors, expected 4 of them but got 2");
  EXPECT_EQ(refusal("rope", {f32({1, 8, 3, 4})}, {f32({1, 8, 3, 4})}, {number("theta", 1e4), list("divisors", {1, 0})}),
            "kernel 'rope' divisors, expected numbers above 0 but got 0");
  for (auto [low, step] : {std::pair(std::int64_t(1) << 62, std::int64_t(1) << 61), {0, std::int64_t(1) << 62}})
    EXPECT_EQ(refusal("pad", {f32({3})}, {f32({5})}, {list("low", {low}), list("high", {1}), list("step", {step})}),
              "kernel 'pad' padded extent, expected at most 63 bits but got more in dim 0");
  EXPECT_EQ(refusal("pad", {f32({3})}, {f32({5})}, {list("low", {1}), list("high", {1}), list("step", {1, 1})}),
            "kernel 'pad' step, expected 1 numbers but got 2");
  EXPECT_EQ(refusal("pad", {f32({3})}, {f32({5})}, {list("low", {1}), list("high", {1}), list("step", {0})}),
            "kernel 'pad' step, expected positive numbers but got 0");
}

TEST(Catalogue, RefusesBadIndicesAlongADim) {
  Operand table = Operand::dense(DType::f32, {3, 5}), tall = Operand::dense(DType::i64, {4, 2});
  EXPECT_EQ(refusal("take_along", {table, tall}, {Operand::dense(DType::f32, {4, 2})}, {integer("dim", 1)}),
            "kernel 'take_along' indices, expected at most 3 in dim 0 but got 4");
  EXPECT_EQ(
      refusal("argmax", {Operand::dense(DType::f32, {3, 0})}, {Operand::dense(DType::i64, {3})}, {integer("dim", 1)}),
      "kernel 'argmax' extents, expected at least 1 in dim 1 but got 0");
}

TEST(Catalogue, RefusesASliceOfTooManyRows) {
  EXPECT_EQ(refusal("slice", {Operand::dense(DType::f32, {4, 2})}, {Operand::dense(DType::f32, {5, 2})}),
            "kernel 'slice' rows, expected at most 4 but got 5");
}

TEST(Catalogue, RefusesBadImages) {
  auto f32 = [](const Shape &shape) { return Operand::dense(DType::f32, shape); };
  using Items = std::vector<Attributes::Item>;
  const Items plain{list("stride", {1, 1}), list("padding", {0, 0}), list("dilation", {1, 1})};
  Items grouped = plain;
  grouped.push_back(integer("groups", 4));
  EXPECT_EQ(refusal("conv2d", {f32({2, 7, 9, 4}), f32({6, 1, 3, 3})}, {f32({2, 5, 7, 6})}, grouped),
            "kernel 'conv2d' groups, expected a divisor of 4 and 6 but got 4");
  EXPECT_EQ(refusal("conv2d", {f32({2, 2, 9, 4}), f32({6, 4, 3, 3})}, {f32({2, 5, 7, 6})}, plain),
            "kernel 'conv2d' window, expected at most the padded input but got 3");
  EXPECT_EQ(refusal("conv2d", {f32({1, (1ll << 40) + 1, 1, 1}), f32({1, 1, 1, 1})}, {f32({1, 1, 1, 1})}, plain),
            "kernel 'conv2d' extents, expected at most 2^40 but got 1099511627777");
  auto pool = [](std::int64_t kernel, std::int64_t padding) {
    return Items{list("kernel", {kernel, kernel}), list("stride", {1, 1}), list("padding", {padding, padding})};
  };
  EXPECT_EQ(refusal("max_pool2d", {f32({2, 7, 9, 4})}, {f32({2, 7, 9, 4})}, pool(3, 2)),
            "kernel 'max_pool2d' padding, expected at most half the kernel but got 2");
  EXPECT_EQ(refusal("max_pool2d", {f32({2, 7, 9, 4})}, {f32({2, 1, 1, 4})}, pool(8, 0)),
            "kernel 'max_pool2d' window, expected at most the padded input but got 8");
  EXPECT_EQ(refusal("avg_pool2d", {f32({2, 0, 9, 4})}, {f32({2, 2, 3, 4})}, {integer("adaptive", 1)}),
            "kernel 'avg_pool2d' extents, expected at least 1 but got 0");
}

TEST(Catalogue, IndexOutOfRangeFailsTheRun) {
  for (KernelFlavour flavour : {KernelFlavour::fast, KernelFlavour::reference}) {
    Tensor table(DType::f32, {5, 3}), indices(DType::i32, {2}), rows(DType::f32, {2, 3}), lse(DType::f32, {2});
    Tensor loss(DType::f32, {}), dloss(DType::f32, {});
    table.normal(1), rows.normal(2), lse.normal(3), dloss.normal(4);
    indices.fill({4, 5});
    for (const char *kernel : {"embedding", "gather"}) {
      Status status = tryRun({kernel, flavour}, {&table, &indices}, {&rows});
      EXPECT_EQ(status.message(), "index 1 of " + std::string(kernel) + ", expected 0 to 4 but got 5");
      EXPECT_EQ(status.code(), StatusCode::failed);
    }
    for (const char *kernel : {"embedding_grad", "scatter_add"})
      EXPECT_EQ(tryRun({kernel, flavour}, {&rows, &indices}, {&table}).message(),
                "index 1 of " + std::string(kernel) + ", expected 0 to 4 but got 5");
    Tensor targets(DType::i32, {2});
    targets.fill({-100, -1});
    EXPECT_EQ(tryRun({"cross_entropy", flavour}, {&rows, &targets}, {&loss, &lse}).message(),
              "target of row 1, expected 0 to 2 but got -1");
    EXPECT_EQ(tryRun({"cross_entropy_grad", flavour}, {&dloss, &rows, &targets, &lse}, {&rows}).message(),
              "target of row 1, expected 0 to 2 but got -1");
  }
}

} // namespace
