//===- cuda.cpp - speed of the CUDA kernels against their floors ---------------------------===//
//
//   bench-cuda [--dnn] [--emulated] [--figures] [NAME]
//
// Each kernel is bound to tensors in one allocation of the device and runs many times on one stream between two waits.
// The output is its time, the bytes or operations per second, and the share of its floor: a copy within the device's
// memory, or the largest product in bf16. --dnn also times the kernels that cuDNN can compute with cuDNN. --figures
// prints the measured figures for a machine's file (tools/machines); no other program may use the GPU. --emulated runs
// each kernel once with small sizes on the emulated device (test/cuda): it shows that each runs and writes its results.
//
// Sizes: rows of a GPT-2 124M step of 32 x 1,024 tokens; attention of 16,384 tokens, causal.
//
//===----------------------------------------------------------------------===//
#include "test/bench/CudaBench.h"

using namespace sluice;
using namespace sluice::test;

namespace {

/// The two rates with which the others are compared.
void floors(Bench &b) {
  const std::uint64_t half = b.emulated ? 1 << 20 : std::uint64_t(2) << 30;
  double least = 1e9;
  for (int round = 0; round < (b.emulated ? 1 : 10); ++round) {
    const double begin = seconds();
    Status status = b.device->copy(b.device->stream(0), b.memory, b.memory + half, half);
    if (status.isOk())
      status = b.device->synchronize();
    if (!status.isOk()) {
      std::printf("copy within the device: %s\n", status.message().c_str());
      b.failed = true;
      break;
    }
    least = std::min(least, seconds() - begin);
  }
  b.copyRate = 2. * static_cast<double>(half) / least;
  std::printf("%-48s %10.4f ms %9.1f GB/s\n", "copy within the device", least * 1e3, b.copyRate * 1e-9);
  const std::int64_t n = b.emulated ? 64 : 8192;
  Operand x = b.tensor(DType::bf16, {n, n}), y = b.tensor(DType::bf16, {n, n}), z = b.tensor(DType::bf16, {n, n});
  const double took = b.time("product", *b.kernels, "matmul", {x, y}, {z}, {});
  b.productRate = took > 0 ? 2. * static_cast<double>(n * n * n) / took : 1;
  std::printf("%-48s %10.4f ms %9.1f TFLOP/s\n", ("product of " + std::to_string(n) + ", bf16").c_str(), took * 1e3,
              b.productRate * 1e-12);
  b.taken = 0;
}

void products(Bench &b) {
  const std::int64_t rows = b.emulated ? 32 : 32768;
  struct Product {
    const char *name;
    std::int64_t n, k;
  };
  for (const Product &p : {Product{"q, k, v", 2304, 768},
                           {"up", 3072, 768},
                           {"down", 768, 3072},
                           {"7B's up", 11008, 4096},
                           {"7B's down", 4096, 11008}}) {
    const std::int64_t n = b.emulated ? p.n / 64 * 2 : p.n, k = b.emulated ? p.k / 64 * 2 : p.k,
                       m = p.k > 4000 || p.n > 4000 ? rows / 4 : rows;
    for (DType type : {DType::bf16, DType::f16, DType::f32}) {
      Operand x = b.tensor(type, {m, k}), w = b.tensor(type, {k, n}), y = b.tensor(type, {m, n});
      b.kernel(std::string("matmul ") + p.name + ", " + std::string(dtypeName(type)), "matmul", {x, w}, {y}, {}, 0,
               2. * static_cast<double>(m * n * k));
    }
  }
}

/// Rows at the distance that a plan chooses for elements of two bytes.
Operand paddedRows(Bench &b, DType type, std::int64_t rows, std::int64_t columns) {
  Operand made = b.tensor(type, {rows, alignedPitch(columns)});
  made.shape[1] = made.extent[1] = made.global[1] = columns;
  return made;
}

/// The products of a loss over classes whose number is odd.
void logitsProducts(Bench &b) {
  const std::int64_t rows = b.emulated ? 32 : 32768, classes = b.emulated ? 117 : 50257, k = b.emulated ? 24 : 768;
  const double flops = 2. * static_cast<double>(rows * classes * k);
  const auto matrix = [&](std::int64_t m, std::int64_t n) { return b.tensor(DType::bf16, {m, n}); };
  const auto logits = [&] { return paddedRows(b, DType::bf16, rows, classes); };
  b.kernel("matmul logits, bf16", "matmul", {matrix(rows, k), matrix(classes, k)}, {logits()},
           {integer("transpose_b", 1)}, 0, flops);
  b.kernel("matmul logits' gradient, bf16", "matmul", {logits(), matrix(classes, k)}, {matrix(rows, k)}, {}, 0, flops);
  b.kernel("matmul logits' weight gradient, bf16", "matmul", {logits(), matrix(rows, k)},
           {b.tensor(DType::f32, {classes, k})}, {integer("transpose_a", 1)}, 0, flops);
}

void attention(Bench &b) {
  for (std::int64_t size : {64, 128})
    for (std::int64_t tokens : {1024, 2048, 4096, 8192}) {
      const std::int64_t t = b.emulated ? tokens / 64 : tokens, batch = b.emulated ? 1 : 16384 / tokens,
                         heads = b.emulated ? 1 : 2048 / size;
      const Shape shape = {batch, t, heads, size};
      // A product's flops over the causal half.
      const double product = 2. * static_cast<double>(batch * heads) * static_cast<double>(t * (t + 1) / 2 * size);
      const std::string title = ", heads of " + std::to_string(size) + ", T " + std::to_string(t);
      const DType type = DType::bf16;
      Operand q = b.tensor(type, shape), k = b.tensor(type, shape), v = b.tensor(type, shape),
              out = b.tensor(type, shape);
      Operand lse = b.tensor(DType::f32, {batch, heads, t});
      b.kernel("attention" + title, "attention", {q, k, v}, {out, lse}, {integer("causal", 1)}, 0, 2 * product, true);
      Operand p = b.tensor(type, shape), r = b.tensor(type, shape), s = b.tensor(type, shape),
              o = b.tensor(type, shape), slope = b.tensor(type, shape);
      Operand dq = b.tensor(type, shape), dk = b.tensor(type, shape), dv = b.tensor(type, shape),
              sums = b.tensor(DType::f32, {batch, heads, t});
      b.kernel("attention_grad" + title, "attention_grad", {slope, p, r, s, o, sums}, {dq, dk, dv},
               {integer("causal", 1)}, 0, 5 * product, true);
    }
}

/// Kernels that read and write their operands once.
void moved(Bench &b, const std::string &title, const std::string &name, const std::vector<Operand> &in,
           const std::vector<Operand> &out, const std::vector<Attributes::Item> &items = {}) {
  double bytes = 0;
  for (const std::vector<Operand> *list : {&in, &out})
    for (const Operand &operand : *list)
      bytes += static_cast<double>(bytesOf(operand));
  b.kernel(title, name, in, out, items, bytes);
}

void norms(Bench &b) {
  const std::int64_t rows = b.emulated ? 32 : 32768, width = 768;
  for (DType t : {DType::bf16, DType::f32}) {
    const std::string type = ", " + std::string(dtypeName(t));
    const Shape whole = {rows, width};
    auto f32 = [&](const Shape &shape) { return b.tensor(DType::f32, shape); };
    moved(b, "layer_norm" + type, "layer_norm", {b.tensor(t, whole), b.tensor(t, {width}), b.tensor(t, {width})},
          {b.tensor(t, whole), f32({rows}), f32({rows})});
    moved(b, "layer_norm_grad" + type, "layer_norm_grad",
          {b.tensor(t, whole), b.tensor(t, whole), b.tensor(t, {width}), f32({rows}), f32({rows})},
          {b.tensor(t, whole), f32({width}), f32({width})});
    moved(b, "layer_norm_grad_and_sum" + type, "layer_norm_grad_and_sum",
          {b.tensor(t, whole), b.tensor(t, whole), b.tensor(t, {width}), f32({rows}), f32({rows}), b.tensor(t, whole)},
          {b.tensor(t, whole), f32({width}), f32({width}), f32({width})});
    moved(b, "rms_norm" + type, "rms_norm", {b.tensor(t, whole), b.tensor(t, {width})},
          {b.tensor(t, whole), f32({rows})});
    moved(b, "rms_norm_grad" + type, "rms_norm_grad",
          {b.tensor(t, whole), b.tensor(t, whole), b.tensor(t, {width}), f32({rows})},
          {b.tensor(t, whole), f32({width})});
    moved(b, "softmax" + type, "softmax", {b.tensor(t, {rows, 1024})}, {b.tensor(t, {rows, 1024})});
  }
}

void pointwise(Bench &b) {
  const std::int64_t rows = b.emulated ? 32 : 32768, width = 3072;
  for (DType t : {DType::bf16, DType::f32}) {
    const std::string type = ", " + std::string(dtypeName(t));
    auto x = [&] { return b.tensor(t, {rows, width}); };
    moved(b, "add" + type, "add", {x(), x()}, {x()});
    moved(b, "gelu" + type, "gelu", {x()}, {x()}, {integer("approximate", 1)});
    moved(b, "gelu_grad" + type, "gelu_grad", {x(), x()}, {x()}, {integer("approximate", 1)});
    moved(b, "swiglu" + type, "swiglu", {x(), x()}, {x()});
    moved(b, "swiglu_grad" + type, "swiglu_grad", {x(), x(), x()}, {x(), x()});
  }
  moved(b, "cast, f32 to bf16", "cast", {b.tensor(DType::f32, {rows, width})}, {b.tensor(DType::bf16, {rows, width})});
}

/// The gradients of a bias and of an embedding, and rotary positions.
void sums(Bench &b) {
  const std::int64_t rows = b.emulated ? 32 : 32768, width = b.emulated ? 64 : 768,
                     vocabulary = b.emulated ? 40 : 50257;
  for (DType t : {DType::bf16, DType::f32}) {
    const std::string type = ", " + std::string(dtypeName(t));
    const Attributes::Item firstDim{"dims", 0, 0, {0}};
    moved(b, "reduce_sum" + type, "reduce_sum", {b.tensor(t, {rows, 4 * width})}, {b.tensor(DType::f32, {4 * width})},
          {firstDim});
    moved(b, "embedding_grad" + type, "embedding_grad",
          {b.tensor(t, {rows, width}), b.indices({rows}, static_cast<std::int32_t>(vocabulary))},
          {b.tensor(DType::f32, {vocabulary, width})}, {integer("padding", -1)});
    const Shape heads = {b.emulated ? 1 : 32, rows / (b.emulated ? 1 : 32), width / 64, 64};
    moved(b, "rope" + type, "rope", {b.tensor(t, heads)}, {b.tensor(t, heads)}, {{"theta", 0, 1e4, {}}});
  }
}

void losses(Bench &b) {
  const std::int64_t rows = b.emulated ? 16 : 16384, classes = b.emulated ? 300 : 50257;
  for (DType t : {DType::bf16, DType::f32}) {
    const std::string type = ", " + std::string(dtypeName(t));
    const auto logits = [&] { return paddedRows(b, t, rows, classes); };
    Operand x = logits(), targets = b.zeros(DType::i32, {rows});
    moved(b, "cross_entropy" + type, "cross_entropy", {x, targets},
          {b.tensor(DType::f32, {}), b.tensor(DType::f32, {rows})});
    x = logits();
    targets = b.zeros(DType::i32, {rows});
    Operand slope = b.tensor(DType::f32, {}), lse = b.zeros(DType::f32, {rows});
    moved(b, "cross_entropy_grad" + type, "cross_entropy_grad", {slope, x, targets, lse}, {logits()});
    // As a plan has it: with the gradient in the memory of the logits.
    x = logits();
    moved(b, "cross_entropy_and_grad" + type, "cross_entropy_and_grad", {x, targets, slope},
          {b.tensor(DType::f32, {}), lse, x});
  }
}

void updates(Bench &b) {
  const std::int64_t n = b.emulated ? 4096 : 64 << 20;
  Operand p = b.tensor(DType::f32, {n}), g = b.tensor(DType::f32, {n}), m = b.zeros(DType::f32, {n}),
          v = b.zeros(DType::f32, {n});
  // A guard of 0 would return at once.
  Operand rate = b.scalar(DType::f32, 1e-3f), step = b.scalar(DType::i64, std::int64_t(1)),
          scale = b.scalar(DType::f32, 1.f), guard = b.scalar(DType::u8, std::uint8_t(1));
  moved(b, "adamw, f32", "adamw", {p, g, m, v, rate, step, scale, guard}, {p, m, v}, {});
  moved(b, "power_sum, f32", "power_sum", {b.tensor(DType::f32, {n})}, {b.tensor(DType::f32, {})});
}

/// In the form of a machine's file; measuring the communicator needs two GPUs.
void figures(const Bench &b) {
  const auto [used, total] = b.memoryInUse();
  const std::uint64_t library = used - std::min(used, b.context + b.size);
  auto line = [](const char *name, double value, const char *end) {
    std::printf("    \"%s\": {\"value\": %.0f, \"from\": \"measured\"}%s\n", name, value, end);
  };
  std::printf("  \"figures\": {\n");
  line("memory_bytes", static_cast<double>(total), ",");
  line("memory_bytes_per_second", b.copyRate, ",");
  line("bf16_flops_per_second", b.productRate, ",");
  line("context_bytes", static_cast<double>(b.context), ",");
  line("library_bytes", static_cast<double>(library), "");
  std::printf("  }\n");
}

} // namespace

int main(int argc, char **argv) {
  Bench b;
  bool dnn = false, wantsFigures = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--dnn")
      dnn = true;
    else if (argument == "--emulated")
      b.emulated = true;
    else if (argument == "--figures")
      wantsFigures = true;
    else if (argument.starts_with("-")) {
      std::fprintf(stderr, "usage: bench-cuda [--dnn] [--emulated] [--figures] [NAME]\n");
      return 2;
    } else
      b.only = argument;
  }
  if (Status status = b.open(dnn); !status.isOk()) {
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
    return 4;
  }
  floors(b);
  products(b);
  logitsProducts(b);
  attention(b);
  norms(b);
  pointwise(b);
  sums(b);
  losses(b);
  updates(b);
  if (wantsFigures)
    figures(b);
  return b.failed ? 1 : 0;
}
