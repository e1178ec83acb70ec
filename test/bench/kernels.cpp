//===- kernels.cpp - speed of the CPU kernels against their floors ------------===//
//
// Each kernel and its floors are timed alternately in one process: a copy beyond the caches scaled to the
// bytes that it must move; only its exponentials, from the first cache; the library's products at its shapes. Each
// floor is shown as the rate that the kernel would have at it; `ratio` is the time of the highest floor / kernel time:
// 1 is the floor, 0.6 the goal; data that stay in a cache can be above 1. `of_` with a floor is the
// same for that floor. Sizes are those of GPT-2 with 384 channels, batch 4 x 256, vocabulary 5,000; one thread.
//
//   bench-kernels --benchmark_filter=attention      type: 0 f32, 1 bf16, 2 f16
//   SLUICE_TEST_ISA=avx2 bench-kernels              the loops of a different instruction set
//
//===----------------------------------------------------------------------===//
#include "test/bench/Bench.h"
#include "test/bench/Exponentials.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <functional>

using namespace sluice;
using namespace sluice::bench;

namespace {

/// Work that bounds a kernel: the kernel needs at least `share` of the time of one `run`.
struct Floor {
  std::string name;
  std::function<void()> run;
  double share;
  /// A rate for comparison, which is no bound at these shapes.
  bool isBound = true;
};

/// Times `kernel` and the floors alternately; the minimum of each counts.
void measure(benchmark::State &state, Prepared &kernel, const std::vector<Floor> &floors, double work,
             const char *unit) {
  double least = 1e9;
  std::vector<double> leastFloor(floors.size(), 1e9);
  if (!kernel.run())
    return state.SkipWithError("the kernel does not run");
  for (auto _ : state) {
    double start = seconds(), before = start;
    kernel.run();
    double end = seconds();
    least = std::min(least, end - start);
    state.SetIterationTime(end - start);
    for (std::size_t i = 0; i < floors.size(); ++i) {
      before = seconds();
      floors[i].run();
      leastFloor[i] = std::min(leastFloor[i], (seconds() - before) * floors[i].share);
    }
  }
  double highest = 0;
  state.counters[unit] = work / least * 1e-9;
  for (std::size_t i = 0; i < floors.size(); ++i) {
    if (floors[i].isBound)
      highest = std::max(highest, leastFloor[i]);
    state.counters[floors[i].name] = work / leastFloor[i] * 1e-9;
    state.counters["of_" + floors[i].name] = leastFloor[i] / least;
  }
  state.counters["ratio"] = highest / least;
}

/// A copy beyond the caches, for a kernel that reads and writes so many bytes in total.
Floor memory(std::int64_t bytes) {
  static std::vector<char> from(64 << 20, 1), to(64 << 20, 2);
  return {"memory",
          [] {
            std::memcpy(to.data(), from.data(), from.size());
            benchmark::DoNotOptimize(to.data());
          },
          static_cast<double>(bytes) / (2.0 * static_cast<double>(from.size()))};
}

/// Only exponentials, from the first cache; so many that the start after a copy takes a negligible time.
Floor exponentials(DType dtype, std::int64_t count) {
  constexpr std::int64_t row = 2048, times = 256;
  auto x = std::make_shared<Tensor>(DType::f32, Shape{row}, 3);
  return {"exponentials",
          [=] {
            for (std::int64_t i = 0; i < times; ++i)
              benchmark::DoNotOptimize(sumOfExponentials(reinterpret_cast<const float *>(x->memory.data()), row,
                                                         dtype == DType::bf16, test::testedIsa()));
          },
          static_cast<double>(count) / (row * times)};
}

/// Against memory; `exps` elements are exponentials of type `of` as well.
void againstCopy(benchmark::State &state, const std::string &name, std::vector<Tensor *> in, std::vector<Tensor *> out,
                 std::vector<Attributes::Item> items, std::int64_t bytes, std::int64_t exps = 0,
                 DType of = DType::f32) {
  Prepared kernel(name, std::move(in), std::move(out), std::move(items));
  std::vector<Floor> floors = {memory(bytes)};
  if (exps && test::testedIsa() != "sse4")
    floors.push_back(exponentials(of, exps));
  measure(state, kernel, floors, static_cast<double>(bytes), "GB/s");
}

/// The library's f32 product of [1024, 384] by [384, 1152], for so many flops.
Floor largeProduct(double flops, bool isBound) {
  struct Product {
    Tensor a{DType::f32, {1024, 384}}, b{DType::f32, {384, 1152}}, c{DType::f32, {1024, 1152}};
    Prepared kernel{"matmul", {&a, &b}, {&c}, {}};
  };
  auto product = std::make_shared<Product>();
  product->kernel.run();
  return {isBound ? "product" : "large_product", [=] { product->kernel.run(); }, flops / (2.0 * 1024 * 384 * 1152),
          isBound};
}

/// The library's f32 products of one head, each with its own [tokens, tokens], in the caches; half of their flops is
/// what a causal head needs. Backward: scores, their slopes, and the gradients of q, k and v.
Floor headProducts(std::int64_t tokens, std::int64_t size, double heads, bool backward) {
  struct Products {
    Tensor x, y, z, s;
    std::vector<std::unique_ptr<Prepared>> kernels;
    Products(std::int64_t tokens, std::int64_t size)
        : x(DType::f32, {tokens, size}), y(DType::f32, {tokens, size}), z(DType::f32, {tokens, size}),
          s(DType::f32, {tokens, tokens}) {}
    void add(Tensor &a, Tensor &b, Tensor &c, int form) {
      kernels.push_back(std::make_unique<Prepared>(
          "matmul", std::vector<Tensor *>{&a, &b}, std::vector<Tensor *>{&c},
          std::vector<Attributes::Item>{integer("transpose_a", form == 2), integer("transpose_b", form == 1)}));
      kernels.back()->run();
    }
  };
  auto products = std::make_shared<Products>(tokens, size);
  products->add(products->x, products->y, products->s, 1);
  if (backward) {
    products->add(products->x, products->y, products->s, 1);
    products->add(products->s, products->y, products->z, 2);
    products->add(products->s, products->y, products->z, 2);
  }
  products->add(products->s, products->y, products->z, 0);
  return {"library",
          [=] {
            for (auto &kernel : products->kernels)
              kernel->run();
          },
          heads * static_cast<double>(tokens + 1) / static_cast<double>(2 * tokens)};
}

constexpr std::int64_t rows = 1024, channels = 384, wide = 1536, vocabulary = 5000;

DType typeOf(const benchmark::State &state) {
  constexpr DType types[] = {DType::f32, DType::bf16, DType::f16};
  return types[state.range(0)];
}

void layerNorm(benchmark::State &state) {
  DType t = typeOf(state);
  Tensor x(t, {rows, channels}), w(t, {channels}), b(t, {channels}), y(t, {rows, channels});
  Tensor mean(DType::f32, {rows}), rstd(DType::f32, {rows});
  againstCopy(state, "layer_norm", {&x, &w, &b}, {&y, &mean, &rstd}, {}, 2 * x.bytes());
}
void layerNormGrad(benchmark::State &state) {
  DType t = typeOf(state);
  Tensor x(t, {rows, channels}), w(t, {channels}), dy(t, {rows, channels}), dx(t, {rows, channels});
  Tensor mean(DType::f32, {rows}), rstd(DType::f32, {rows}), dw(DType::f32, {channels}), db(DType::f32, {channels});
  againstCopy(state, "layer_norm_grad", {&dy, &x, &w, &mean, &rstd}, {&dx, &dw, &db}, {}, 3 * x.bytes());
}
void gelu(benchmark::State &state) {
  Tensor x(typeOf(state), {rows, wide}, 3), y(typeOf(state), {rows, wide});
  againstCopy(state, "gelu", {&x}, {&y}, {integer("approximate", state.range(1))}, 2 * x.bytes(), x.operand.elements(),
              x.operand.dtype);
}
void geluGrad(benchmark::State &state) {
  Tensor x(typeOf(state), {rows, wide}, 3), dy(typeOf(state), {rows, wide}), dx(typeOf(state), {rows, wide});
  againstCopy(state, "gelu_grad", {&dy, &x}, {&dx}, {integer("approximate", state.range(1))}, 3 * x.bytes(),
              x.operand.elements(), x.operand.dtype);
}
void softmax(benchmark::State &state) {
  Tensor x(typeOf(state), {4096, 256}, 3), y(typeOf(state), {4096, 256});
  againstCopy(state, "softmax", {&x}, {&y}, {}, 2 * x.bytes(), x.operand.elements(), x.operand.dtype);
}
void crossEntropy(benchmark::State &state) {
  Tensor x(typeOf(state), {rows, vocabulary}, 3), targets(DType::i32, {rows}), loss(DType::f32, {}),
      lse(DType::f32, {rows});
  // The loss is f32, and so are its exponentials.
  againstCopy(state, "cross_entropy", {&x, &targets}, {&loss, &lse}, {}, x.bytes(), x.operand.elements());
}
void crossEntropyGrad(benchmark::State &state) {
  Tensor x(typeOf(state), {rows, vocabulary}, 3), targets(DType::i32, {rows}), dloss(DType::f32, {}),
      lse(DType::f32, {rows});
  Tensor dx(typeOf(state), {rows, vocabulary});
  for (std::int64_t i = 0; i < rows; ++i)
    cpu::storeNumber(lse.memory.data(), DType::f32, i, 9);
  againstCopy(state, "cross_entropy_grad", {&dloss, &x, &targets, &lse}, {&dx}, {}, 2 * x.bytes(), x.operand.elements(),
              x.operand.dtype);
}
void adamw(benchmark::State &state) {
  std::int64_t n = 4 << 20;
  Tensor p(DType::f32, {n}), g(typeOf(state), {n}), m(DType::f32, {n}), v(DType::f32, {n}), rate(DType::f32, {});
  Tensor step(DType::i64, {}), clip(DType::f32, {}), guard(DType::u8, {});
  std::memset(v.memory.data(), 0, v.memory.size());
  cpu::storeNumber(step.memory.data(), DType::i64, 0, 5);
  cpu::storeNumber(guard.memory.data(), DType::u8, 0, 1);
  againstCopy(state, "adamw", {&p, &g, &m, &v, &rate, &step, &clip, &guard}, {&p, &m, &v}, {},
              6 * p.bytes() + g.bytes());
}
void powerSum(benchmark::State &state) {
  Tensor g(typeOf(state), {4 << 20}), sum(DType::f32, {});
  againstCopy(state, "power_sum", {&g}, {&sum}, {}, g.bytes());
}
void add(benchmark::State &state) {
  Tensor a(typeOf(state), {rows, wide}), b(typeOf(state), {rows, wide}), c(typeOf(state), {rows, wide});
  againstCopy(state, "add", {&a, &b}, {&c}, {}, 3 * a.bytes());
}
void reduceSum(benchmark::State &state) {
  Tensor x(typeOf(state), {rows, wide}), y(DType::f32, {wide});
  againstCopy(state, "reduce_sum", {&x}, {&y}, {{"dims", 0, 0, {0}}}, x.bytes());
}
void embeddingGrad(benchmark::State &state) {
  Tensor dy(typeOf(state), {rows, channels}), indices(DType::i32, {rows}), table(DType::f32, {vocabulary, channels});
  againstCopy(state, "embedding_grad", {&dy, &indices}, {&table}, {}, dy.bytes() + table.bytes());
}

struct AttentionSizes {
  std::int64_t batch = 4, tokens, heads = 6, size = 64;
};
/// Two products over the causal half, or five.
void againstProducts(benchmark::State &state, const std::string &name, std::vector<Tensor *> in,
                     std::vector<Tensor *> out, const AttentionSizes &s, bool backward) {
  Prepared kernel(name, std::move(in), std::move(out), {integer("causal", 1)});
  double heads = static_cast<double>(s.batch * s.heads);
  double flops = (backward ? 10. : 4.) * heads * static_cast<double>(s.tokens * (s.tokens + 1) / 2 * s.size);
  measure(state, kernel, {headProducts(s.tokens, s.size, heads, backward), largeProduct(flops, false)}, flops,
          "GFLOP/s");
}
void attention(benchmark::State &state) {
  AttentionSizes s{.tokens = state.range(1)};
  Shape shape = {s.batch, s.tokens, s.heads, s.size};
  Tensor q(typeOf(state), shape), k(typeOf(state), shape), v(typeOf(state), shape), out(typeOf(state), shape);
  Tensor lse(DType::f32, {s.batch, s.heads, s.tokens});
  againstProducts(state, "attention", {&q, &k, &v}, {&out, &lse}, s, false);
}
void attentionGrad(benchmark::State &state) {
  AttentionSizes s{.tokens = state.range(1)};
  Shape shape = {s.batch, s.tokens, s.heads, s.size};
  DType t = typeOf(state);
  Tensor q(t, shape), k(t, shape), v(t, shape), out(t, shape), dout(t, shape), dq(t, shape), dk(t, shape), dv(t, shape);
  Tensor lse(DType::f32, {s.batch, s.heads, s.tokens});
  Prepared("attention", {&q, &k, &v}, {&out, &lse}, {integer("causal", 1)}).run();
  againstProducts(state, "attention_grad", {&dout, &q, &k, &v, &out, &lse}, {&dq, &dk, &dv}, s, true);
}
void matmul(benchmark::State &state) {
  DType t = typeOf(state);
  std::int64_t m = state.range(1), n = state.range(2), k = state.range(3), form = state.range(4);
  Tensor a(t, form == 2 ? Shape{k, m} : Shape{m, k}), b(t, form == 1 ? Shape{n, k} : Shape{k, n}), c(t, {m, n});
  Prepared kernel("matmul", {&a, &b}, {&c}, {integer("transpose_a", form == 2), integer("transpose_b", form == 1)});
  double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  measure(state, kernel, {largeProduct(flops, true)}, flops, "GFLOP/s");
}

void allTypes(benchmark::internal::Benchmark *b) { b->ArgName("type")->Arg(0)->Arg(1)->Arg(2)->UseManualTime(); }
void forms(benchmark::internal::Benchmark *b) {
  b->ArgNames({"type", "tanh"})->ArgsProduct({{0, 1, 2}, {0, 1}})->UseManualTime();
}
void lengths(benchmark::internal::Benchmark *b) {
  b->ArgNames({"type", "tokens"})->ArgsProduct({{0, 1, 2}, {256, 1024}})->UseManualTime();
}

BENCHMARK(layerNorm)->Name("layer_norm")->Apply(allTypes);
BENCHMARK(layerNormGrad)->Name("layer_norm_grad")->Apply(allTypes);
BENCHMARK(gelu)->Apply(forms);
BENCHMARK(geluGrad)->Name("gelu_grad")->Apply(forms);
BENCHMARK(softmax)->Apply(allTypes);
BENCHMARK(crossEntropy)->Name("cross_entropy")->Apply(allTypes);
BENCHMARK(crossEntropyGrad)->Name("cross_entropy_grad")->Apply(allTypes);
BENCHMARK(adamw)->Apply(allTypes);
BENCHMARK(powerSum)->Name("power_sum")->Apply(allTypes);
BENCHMARK(add)->Apply(allTypes);
BENCHMARK(reduceSum)->Name("reduce_sum")->Apply(allTypes);
BENCHMARK(embeddingGrad)->Name("embedding_grad")->Apply(allTypes);
BENCHMARK(attention)->Apply(lengths);
BENCHMARK(attentionGrad)->Name("attention_grad")->Apply(lengths);
BENCHMARK(matmul)
    ->ArgNames({"type", "m", "n", "k", "form"})
    ->ArgsProduct({{0, 1, 2}, {1024}, {1152}, {384}, {0, 1, 2}})
    ->ArgsProduct({{0, 1, 2}, {1024}, {5000}, {384}, {1}})
    ->ArgsProduct({{0, 1, 2}, {384}, {1536}, {1024}, {2}})
    ->UseManualTime();

} // namespace

BENCHMARK_MAIN();
