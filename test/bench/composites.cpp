//===- composites.cpp - composites against the kernels of their decompositions --===//
//
// Each composite and the kernels that its decomposition into primitives launches are timed alternately, by processor
// time of one thread; `share` is composite / decomposition. Exits 1 if a composite is slower by more than a
// twentieth.
//
//   bench-composites [SECONDS for each line [NAME]]
//
//===----------------------------------------------------------------------===//
#include "test/bench/Bench.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>

using namespace sluice;
using namespace sluice::bench;

namespace {

constexpr std::int64_t rows = 1024, channels = 384, wide = 1536, vocabulary = 5000;

/// Kernels that run one after the other, and the tensors between them.
struct Chain {
  std::deque<Tensor> tensors;
  std::deque<Prepared> kernels;

  Tensor *make(DType dtype, const Shape &shape, double spread = 1) {
    return &tensors.emplace_back(dtype, shape, spread);
  }
  Chain &then(const std::string &name, std::vector<Tensor *> in, std::vector<Tensor *> out,
              std::vector<Attributes::Item> items = {}) {
    kernels.emplace_back(name, std::move(in), std::move(out), std::move(items));
    if (!kernels.back().kernel) {
      std::fprintf(stderr, "error: kernel %s, expected to be prepared but got a refusal\n", name.c_str());
      std::exit(1);
    }
    return *this;
  }
  double run() {
    double start = seconds();
    for (Prepared &kernel : kernels)
      kernel.run();
    return seconds() - start;
  }
};

Attributes::Item number(std::string_view name, double value) { return {name, 0, value, {}}; }
Attributes::Item dims(std::vector<std::int64_t> values) { return {"dims", 0, 0, std::move(values)}; }

/// One kernel, and many that compute the same.
struct Subject {
  const char *name;
  void (*composite)(Chain &chain, DType t);
  void (*decomposition)(Chain &chain, DType t);
};

/// y = (x - mean) rstd (weight) (bias) over `reduced`, statistics of shape `kept`.
void normalise(Chain &c, DType t, std::int64_t reduced, const Shape &kept, bool centred) {
  Tensor *x = c.make(t, {rows, channels}), *mean = c.make(t, kept), *centre = c.make(t, {rows, channels});
  Tensor *square = c.make(t, {rows, channels}), *variance = c.make(t, kept), *epsilon = c.make(t, {});
  Tensor *weight = c.make(t, {channels}), *bias = c.make(t, {channels}), *y = c.make(t, {rows, channels});
  if (centred)
    c.then("reduce_sum", {x}, {mean}, {dims({reduced}), integer("mean", 1)}).then("subtract", {x, mean}, {centre});
  else
    centre = x;
  c.then("multiply", {centre, centre}, {square});
  c.then("reduce_sum", {square}, {variance}, {dims({reduced}), integer("mean", 1)});
  c.then("add", {variance, epsilon}, {variance}).then("rsqrt", {variance}, {variance});
  c.then("multiply", {centre, variance}, {y}).then("multiply", {y, weight}, {y});
  if (centred)
    c.then("add", {y, bias}, {y});
}

/// exp(x - max) / sum over the last dim.
void normaliseExponentials(Chain &c, DType t, Tensor *x, Tensor *y, const Shape &kept, std::int64_t dim) {
  Tensor *largest = c.make(t, kept), *sum = c.make(t, kept);
  c.then("reduce_max", {x}, {largest}, {dims({dim})}).then("subtract", {x, largest}, {y}).then("exp", {y}, {y});
  c.then("reduce_sum", {y}, {sum}, {dims({dim})}).then("divide", {y, sum}, {y});
}

constexpr std::int64_t batch = 4, tokens = 256, heads = 6, size = 64;

const Subject subjects[] = {
    {"layer_norm",
     [](Chain &c, DType t) {
       c.then("layer_norm", {c.make(t, {rows, channels}), c.make(t, {channels}), c.make(t, {channels})},
              {c.make(t, {rows, channels}), c.make(DType::f32, {rows}), c.make(DType::f32, {rows})});
     },
     [](Chain &c, DType t) { normalise(c, t, 1, {rows, 1}, true); }},
    {"rms_norm",
     [](Chain &c, DType t) {
       c.then("rms_norm", {c.make(t, {rows, channels}), c.make(t, {channels})},
              {c.make(t, {rows, channels}), c.make(DType::f32, {rows})});
     },
     [](Chain &c, DType t) { normalise(c, t, 1, {rows, 1}, false); }},
    {"batch_norm",
     [](Chain &c, DType t) {
       c.then("batch_norm", {c.make(t, {rows, channels}), c.make(t, {channels}), c.make(t, {channels})},
              {c.make(t, {rows, channels}), c.make(DType::f32, {channels}), c.make(DType::f32, {channels})});
     },
     [](Chain &c, DType t) { normalise(c, t, 0, {channels}, true); }},
    {"gelu tanh",
     [](Chain &c, DType t) {
       c.then("gelu", {c.make(t, {rows, wide}, 3)}, {c.make(t, {rows, wide})}, {integer("approximate", 1)});
     },
     [](Chain &c, DType t) {
       Tensor *x = c.make(t, {rows, wide}, 3), *y = c.make(t, {rows, wide}), *one = c.make(t, {});
       c.then("multiply", {x, x}, {y}).then("multiply", {y, x}, {y});
       c.then("scale", {y}, {y}, {number("factor", 0.044715)}).then("add", {y, x}, {y});
       c.then("scale", {y}, {y}, {number("factor", 0.79788456)}).then("tanh", {y}, {y});
       c.then("add", {y, one}, {y}).then("multiply", {y, x}, {y}).then("scale", {y}, {y}, {number("factor", 0.5)});
     }},
    {"gelu erf",
     [](Chain &c, DType t) {
       c.then("gelu", {c.make(t, {rows, wide}, 3)}, {c.make(t, {rows, wide})}, {integer("approximate", 0)});
     },
     [](Chain &c, DType t) {
       Tensor *x = c.make(t, {rows, wide}, 3), *y = c.make(t, {rows, wide}), *one = c.make(t, {});
       c.then("scale", {x}, {y}, {number("factor", 0.70710678)}).then("erf", {y}, {y}).then("add", {y, one}, {y});
       c.then("multiply", {y, x}, {y}).then("scale", {y}, {y}, {number("factor", 0.5)});
     }},
    {"silu", [](Chain &c, DType t) { c.then("silu", {c.make(t, {rows, wide}, 3)}, {c.make(t, {rows, wide})}); },
     [](Chain &c, DType t) {
       Tensor *x = c.make(t, {rows, wide}, 3), *y = c.make(t, {rows, wide});
       c.then("sigmoid", {x}, {y}).then("multiply", {y, x}, {y});
     }},
    {"swiglu",
     [](Chain &c, DType t) {
       c.then("swiglu", {c.make(t, {rows, wide}, 3), c.make(t, {rows, wide})}, {c.make(t, {rows, wide})});
     },
     [](Chain &c, DType t) {
       Tensor *x = c.make(t, {rows, wide}, 3), *up = c.make(t, {rows, wide}), *y = c.make(t, {rows, wide});
       c.then("sigmoid", {x}, {y}).then("multiply", {y, x}, {y}).then("multiply", {y, up}, {y});
     }},
    {"softmax", [](Chain &c, DType t) { c.then("softmax", {c.make(t, {4096, 256}, 3)}, {c.make(t, {4096, 256})}); },
     [](Chain &c, DType t) {
       normaliseExponentials(c, t, c.make(t, {4096, 256}, 3), c.make(t, {4096, 256}), {4096, 1}, 1);
     }},
    {"cross_entropy",
     [](Chain &c, DType t) {
       c.then("cross_entropy", {c.make(t, {rows, vocabulary}, 3), c.make(DType::i32, {rows})},
              {c.make(DType::f32, {}), c.make(DType::f32, {rows})});
     },
     [](Chain &c, DType t) {
       Tensor *x = c.make(t, {rows, vocabulary}, 3), *targets = c.make(DType::i32, {rows, 1}), *lse = c.make(t, {rows});
       Tensor *picked = c.make(t, {rows, 1}), *loss = c.make(t, {});
       c.then("logsumexp", {x}, {lse}).then("take_along", {x, targets}, {picked}, {integer("dim", 1)});
       picked->operand.rank = 1;
       c.then("subtract", {lse, picked}, {lse}).then("reduce_sum", {lse}, {loss}, {dims({0}), integer("mean", 1)});
     }},
    {"attention",
     [](Chain &c, DType t) {
       Shape shape = {batch, tokens, heads, size};
       c.then("attention", {c.make(t, shape), c.make(t, shape), c.make(t, shape)},
              {c.make(t, shape), c.make(DType::f32, {batch, heads, tokens})}, {integer("causal", 1)});
     },
     [](Chain &c, DType t) {
       Shape perHead = {batch, heads, tokens, size}, pairs = {batch, heads, tokens, tokens};
       Tensor *q = c.make(t, perHead), *k = c.make(t, perHead), *v = c.make(t, perHead), *out = c.make(t, perHead);
       Tensor *scores = c.make(t, pairs), *mask = c.make(t, {tokens, tokens});
       c.then("matmul", {q, k}, {scores}, {integer("transpose_b", 1)});
       c.then("scale", {scores}, {scores}, {number("factor", 0.125)});
       c.then("add", {scores, mask}, {scores});
       normaliseExponentials(c, t, scores, scores, {batch, heads, tokens, 1}, 3);
       c.then("matmul", {scores, v}, {out});
     }},
    {"rope",
     [](Chain &c, DType t) {
       Shape shape = {batch, tokens, heads, size};
       c.then("rope", {c.make(t, shape)}, {c.make(t, shape)}, {number("theta", 1e4)});
     },
     [](Chain &c, DType t) {
       // The halves of a head are views; their tables repeat over batch rows and heads.
       Shape half = {batch, tokens, heads, size / 2}, table = {tokens, 1, size / 2};
       auto view = [&] {
         Tensor *x = c.make(t, half);
         x->memory.resize(x->memory.size() * 2);
         for (int d = 0; d < 3; ++d)
           x->operand.strides[d] *= 2;
         return x;
       };
       Tensor *a = view(), *b = view(), *ya = view(), *yb = view(), *angles = c.make(t, table, 3);
       Tensor *cosines = c.make(t, table), *sines = c.make(t, table);
       Tensor *first = c.make(t, half), *second = c.make(t, half);
       c.then("cos", {angles}, {cosines}).then("sin", {angles}, {sines});
       c.then("multiply", {a, cosines}, {first}).then("multiply", {b, sines}, {second});
       c.then("subtract", {first, second}, {ya});
       c.then("multiply", {b, cosines}, {first}).then("multiply", {a, sines}, {second});
       c.then("add", {first, second}, {yb});
     }},
};

} // namespace

int main(int argc, char **argv) {
  double budget = argc > 1 ? std::atof(argv[1]) : 0.3;
  int slower = 0;
  std::printf("| composite | type | us | its decomposition, us | share |\n|---|---|---|---|---|\n");
  for (const Subject &subject : subjects)
    for (DType t : {DType::f32, DType::bf16, DType::f16}) {
      if (argc > 2 && std::string(argv[2]) != subject.name)
        continue;
      Chain one, many;
      subject.composite(one, t);
      subject.decomposition(many, t);
      one.run();
      double least = 1e9, leastMany = many.run(), spent = 0;
      for (int i = 0; i < 3 || spent < budget; ++i) {
        double a = one.run(), b = many.run();
        least = std::min(least, a), leastMany = std::min(leastMany, b);
        spent += a + b;
      }
      std::printf("| `%s` | %s | %.0f | %.0f | %.2f |\n", subject.name, std::string(dtypeName(t)).c_str(), least * 1e6,
                  leastMany * 1e6, least / leastMany);
      // Two measurements of the same work differ a little.
      slower += least > 1.05 * leastMany;
    }
  return slower ? 1 : 0;
}
