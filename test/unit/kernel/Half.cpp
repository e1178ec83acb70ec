//===- Half.cpp - kernels on f16 -----------------------------------------------===//
//
// A kernel must return its result in f32, rounded once, for the same numbers; and the conversions of every instruction
// set have the same bits, over all numbers of f16 and over the numbers at, below and above the middle between two of
// them.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

#include "runtime/kernel/cpu/vector/Loops.h"

#include <typeinfo>

using namespace sluice;
using namespace sluice::test;

namespace {

Tensor as(DType dtype, const Tensor &from, const Shape &shape) {
  Tensor to(dtype, shape);
  for (std::int64_t i = 0; i < from.size(); ++i)
    to.set(i, from.at(i));
  return to;
}

void compare(const Run &run, const std::vector<Shape> &inputs, const Shape &output) {
  std::vector<Tensor> half, single;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    half.push_back(Tensor(DType::f16, inputs[i]).normal(static_cast<std::uint64_t>(70 + i)));
    single.push_back(as(DType::f32, half.back(), inputs[i]));
  }
  Tensor got(DType::f16, output), want(DType::f32, output);
  std::vector<Tensor *> halves, singles;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    halves.push_back(&half[i]);
    singles.push_back(&single[i]);
  }
  mustRun(run, halves, {&got});
  mustRun(run, singles, {&want});
  expectNear(got, want.values(), 0x1p-10, 0x1p-20, run.kernel + " in f16");
}

TEST(Half, Matmul) {
  for (int form = 0; form < 8; ++form) {
    bool ta = form & 1, tb = form & 2, more = form & 4;
    std::vector<Shape> inputs = {ta ? Shape{2, 9, 5} : Shape{2, 5, 9}, tb ? Shape{70, 9} : Shape{9, 70}};
    if (more) {
      inputs.push_back({70});
      inputs.push_back({2, 5, 70});
    }
    compare(
        {"matmul",
         {},
         1,
         {integer("transpose_a", ta), integer("transpose_b", tb), integer("bias", more), integer("residual", more)}},
        inputs, {2, 5, 70});
  }
}

TEST(Half, OtherKernels) {
  const Shape rows = {3, 7};
  for (const char *kernel : {"exp", "tanh", "gelu", "silu", "softmax", "relu", "sigmoid"})
    compare({kernel}, {rows}, rows);
  for (const char *kernel : {"add", "multiply", "swiglu", "gelu_grad", "silu_grad", "softmax_grad"})
    compare({kernel}, {rows, rows}, rows);
  compare({"reduce_sum", {}, 1, {list("dims", {0})}}, {rows}, {7});
  const std::vector<Attributes::Item> window = {list("stride", {1, 2}), list("padding", {1, 0}),
                                                list("dilation", {1, 1})};
  compare({"conv2d", {}, 1, window}, {{2, 5, 6, 3}, {4, 3, 3, 2}}, {2, 5, 3, 4});
}

/// True if the kernel of the operands is not the reference.
bool hasLoop(const std::string &kernel, const std::vector<Tensor> &inputs, const std::vector<Tensor> &outputs,
             std::vector<Attributes::Item> items = {}) {
  std::vector<Operand> in, out;
  for (const Tensor &tensor : inputs)
    in.push_back(tensor.operand);
  for (const Tensor &tensor : outputs)
    out.push_back(tensor.operand);
  Attributes attributes(std::move(items));
  KernelRequest request{in, out, &attributes, 1, workspaceCap(kernel, in, out, attributes, {"cpu", 1, "avx512"})};
  auto fast = findCpuKernel(kernel)(request), plain = findCpuKernel(kernel, KernelFlavour::reference)(request);
  if (!fast.isOk() || !plain.isOk()) {
    ADD_FAILURE() << kernel << ": " << fast.status().message() << plain.status().message();
    return false;
  }
  const BoundKernel &chosen = **fast, &reference = **plain;
  return typeid(chosen) != typeid(reference);
}

// The kernels that a transformer and a convolutional model launch in f16.
TEST(Half, FastKernelsAcceptF16) {
  const DType h = DType::f16, s = DType::f32;
  const Tensor x(h, {4, 32}), row(h, {32}), statistic(s, {4}), scalar32(s, {}), wide(s, {4, 32}),
      index(DType::i32, {4});
  const Tensor heads(h, {1, 4, 2, 16}), sums(s, {1, 2, 4}), channel(s, {32}), step(DType::i64, {}),
      guard(DType::u8, {});
  for (const char *kernel : {"negate", "exp", "log", "tanh", "erf", "sqrt", "rsqrt", "relu", "sigmoid", "softplus",
                             "scale", "softmax", "gelu", "silu", "copy", "rope"})
    if (std::string(kernel) == "rope")
      EXPECT_TRUE(hasLoop(kernel, {heads}, {heads}, {number("theta", 1e4)})) << kernel;
    else
      EXPECT_TRUE(hasLoop(kernel, {x}, {x})) << kernel;
  for (const char *kernel : {"add", "subtract", "multiply", "divide", "maximum", "relu_grad", "softmax_grad",
                             "gelu_grad", "silu_grad", "swiglu"})
    EXPECT_TRUE(hasLoop(kernel, {x, x}, {x})) << kernel;
  EXPECT_TRUE(hasLoop("swiglu_grad", {x, x, x}, {x, x}));
  EXPECT_TRUE(hasLoop("cast", {x}, {wide}));
  EXPECT_TRUE(hasLoop("cast", {wide}, {x}));
  EXPECT_TRUE(hasLoop("accumulate", {x}, {wide}));
  EXPECT_TRUE(hasLoop("power_sum", {x, wide}, {scalar32}));
  EXPECT_TRUE(hasLoop("reduce_sum", {x}, {row}, {list("dims", {0})}));
  EXPECT_TRUE(hasLoop("reduce_sum", {Tensor(h, {2, 4, 32})}, {Tensor(h, {2, 32})}, {list("dims", {1})}));
  EXPECT_TRUE(hasLoop("logsumexp", {x}, {Tensor(h, {4})}));
  EXPECT_TRUE(hasLoop("matmul", {x, Tensor(h, {32, 32})}, {x}));
  EXPECT_TRUE(hasLoop("layer_norm", {x, row, row}, {x, statistic, statistic}));
  EXPECT_TRUE(hasLoop("layer_norm_grad", {x, x, row, statistic, statistic}, {x, row, row}));
  EXPECT_TRUE(hasLoop("rms_norm", {x, row}, {x, statistic}));
  EXPECT_TRUE(hasLoop("rms_norm_grad", {x, x, row, statistic}, {x, row}));
  EXPECT_TRUE(hasLoop("batch_norm", {x, row, row}, {x, channel, channel}));
  EXPECT_TRUE(hasLoop("batch_norm_grad", {x, x, row, channel, channel}, {x, row, row}));
  EXPECT_TRUE(hasLoop("attention", {heads, heads, heads}, {heads, sums}));
  EXPECT_TRUE(hasLoop("attention_grad", {heads, heads, heads, heads, heads, sums}, {heads, heads, heads}));
  EXPECT_TRUE(hasLoop("embedding", {x, index}, {x}));
  EXPECT_TRUE(hasLoop("embedding_grad", {x, index}, {x}));
  EXPECT_TRUE(hasLoop("cross_entropy", {x, index}, {scalar32, statistic}));
  EXPECT_TRUE(hasLoop("cross_entropy_grad", {scalar32, x, index, statistic}, {x}));
  EXPECT_TRUE(hasLoop("linear_cross_entropy", {x, x, index}, {scalar32, statistic}, {integer("rows", 2)}));
  EXPECT_TRUE(hasLoop("dropout", {x, step, step, step}, {x}, {number("rate", 0.5)}));
  EXPECT_TRUE(hasLoop("adamw", {wide, x, wide, wide, scalar32, step, scalar32, guard}, {wide, wide, wide}));
  EXPECT_TRUE(hasLoop("conv2d", {Tensor(h, {1, 8, 8, 16}), Tensor(h, {16, 16, 3, 3})}, {Tensor(h, {1, 6, 6, 16})},
                      {list("stride", {1, 1}), list("padding", {0, 0}), list("dilation", {1, 1})}));
  // A kernel that has no fast form for mixed types.
  EXPECT_FALSE(hasLoop("add", {x, wide}, {wide}));
}

template <typename Body> void forEachSet(Body body) {
  for (const char *isa : {"baseline", "avx2", "avx512"})
    if (const cpu::Loops *loops = cpu::loopsFor(isa)) {
      SCOPED_TRACE(isa);
      body(*loops);
    }
}

cpu::F16 ofBits(std::uint32_t bits) {
  cpu::F16 half;
  half.bits = static_cast<std::uint16_t>(bits);
  return half;
}

/// The value of 16 bits, from the definition of the format.
double meaning(std::uint32_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double size = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  if (exponent == 31)
    size = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  return bits & 0x8000 ? -size : size;
}

TEST(Half, EveryNumberWidens) {
  std::vector<cpu::F16> halves;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    halves.push_back(ofBits(bits));
  for (const cpu::F16 &half : halves) {
    double want = meaning(half.bits);
    float got = half;
    ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want))
        << half.bits;
  }
  forEachSet([&](const cpu::Loops &l) {
    // From an odd offset, with a remainder that does not fill a vector.
    std::vector<float> wide(halves.size());
    l.f16.widen(halves.data(), wide.data(), 1);
    l.f16.widen(halves.data() + 1, wide.data() + 1, static_cast<std::int64_t>(halves.size()) - 1);
    std::vector<cpu::F16> again(halves.size()), scaled(halves.size());
    l.f16.narrow(wide.data(), again.data(), static_cast<std::int64_t>(wide.size()));
    l.f16.unary(cpu::UnaryLoop::scale, halves.data(), scaled.data(), static_cast<std::int64_t>(halves.size()), 1.f);
    for (std::size_t i = 0; i < halves.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(static_cast<float>(halves[i])))
          << i;
      // The result for a NaN is quiet.
      std::uint32_t want =
          (i & 0x7fff) > 0x7c00 ? static_cast<std::uint32_t>(i | 0x200) : static_cast<std::uint32_t>(i);
      ASSERT_EQ(again[i].bits, want);
      ASSERT_EQ(scaled[i].bits, want);
    }
  });
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  std::vector<float> from;
  std::vector<std::uint32_t> want;
  auto add = [&](float x, std::uint32_t bits) {
    from.push_back(x);
    want.push_back(bits);
    from.push_back(-x);
    want.push_back(bits | 0x8000);
  };
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (std::uint32_t low = 0; low < 0x7c00; ++low) {
    // Beyond the largest number the result is infinity instead of 65,536.
    double below = meaning(low), above = low == 0x7bff ? 65536 : meaning(low + 1);
    auto middle = static_cast<float>((below + above) / 2);
    ASSERT_EQ(static_cast<double>(middle), (below + above) / 2);
    add(static_cast<float>(below), low);
    add(middle, low + (low & 1));
    add(std::nextafter(middle, 0.f), low);
    add(std::nextafter(middle, inf), low + 1);
  }
  for (float large : {65536.f, 1e10f, std::numeric_limits<float>::max(), inf})
    add(large, 0x7c00);
  for (float tiny : {std::numeric_limits<float>::denorm_min(), 1e-40f, std::numeric_limits<float>::min(), 0x1p-26f})
    add(tiny, 0);
  for (std::uint32_t payload : {0x1u, 0x2000u, 0x7fffffu, 0x400000u, 0x155555u})
    add(std::bit_cast<float>(0x7f800000u | payload), 0x7e00 | payload >> 13);
  for (std::size_t i = 0; i < from.size(); ++i)
    ASSERT_EQ(cpu::F16(from[i]).bits, want[i]) << from[i];
  forEachSet([&](const cpu::Loops &l) {
    std::vector<cpu::F16> got(from.size());
    l.f16.narrow(from.data(), got.data(), 3);
    l.f16.narrow(from.data() + 3, got.data() + 3, static_cast<std::int64_t>(from.size()) - 3);
    for (std::size_t i = 0; i < from.size(); ++i)
      ASSERT_EQ(got[i].bits, want[i]) << from[i];
  });
}

} // namespace
