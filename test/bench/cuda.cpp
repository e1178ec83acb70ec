//===- cuda.cpp - speed of the CUDA kernels against their floors ---------------------------===//
//
//   bench-cuda [--dnn] [--emulated] [--figures] [NAME]
//
// Each kernel is bound to tensors in one allocation of the device and run again and again on one stream; its time is
// that of many runs between two waits. Beside it stand what it moves or computes a second, and the share of the floor
// that it is held against: a copy within the device's memory, or the largest product in bf16. With --dnn kernels that
// cuDNN can compute are also timed so. --figures prints at the end what a machine's file (tools/machines) may say as
// measured: nothing else may use the GPU then. --emulated runs each once, small, on the device that is emulated
// (test/cuda): it shows that they run, and that each writes its results.
//
// Sizes: rows of a GPT-2 124M step of 32 x 1,024 tokens; attention of 16,384 tokens, causal.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/kernel/Kernel.h"
#include "runtime/kernel/cuda/KernelContext.h"
#include "test/cuda/Fake.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

using namespace sluice;

namespace {

using Shape = std::vector<std::int64_t>;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The device, its one allocation, and how much of it is taken.
struct Bench {
  std::optional<test::FakeCuda> fake;
  std::unique_ptr<CudaDevice> device;
  std::unique_ptr<cuda::KernelContext> kernels, byDnn;
  char *memory = nullptr;
  std::uint64_t size = 0, taken = 0;
  bool emulated = false;
  std::string only;
  double copyRate = 0, productRate = 0;
  /// Memory of the device that was in use when there was no more than a context.
  std::uint64_t context = 0;
  std::vector<std::uint16_t> numbers;

  /// Bytes of the device's memory that are in use, and all of them.
  std::pair<std::uint64_t, std::uint64_t> memoryInUse() const {
    std::size_t free = 0, total = 0;
    (void)device->functions().driver.memoryInfo(&free, &total);
    return {total - free, total};
  }

  Status open(bool dnn) {
    if (emulated)
      fake.emplace();
    SLUICE_ASSIGN_OR_RETURN(device, CudaDevice::create({}));
    context = memoryInUse().first;
    SLUICE_RETURN_IF_ERROR(device->createStream("compute", 0).takeStatus());
    SLUICE_ASSIGN_OR_RETURN(kernels, cuda::KernelContext::create(device->functions(), 0, false));
    if (dnn) {
      SLUICE_ASSIGN_OR_RETURN(byDnn, cuda::KernelContext::create(device->functions(), 0, false));
      SLUICE_RETURN_IF_ERROR(byDnn->useDnn(std::make_shared<cuda::DnnUse>(cuda::DnnMode::on)));
    }
    size = emulated ? std::uint64_t(64) << 20 : std::uint64_t(24) << 30;
    SLUICE_ASSIGN_OR_RETURN(void *got, device->allocate(MemorySpace::device, size, "bench"));
    memory = static_cast<char *>(got);
    return fill(size);
  }

  /// Small numbers of either sign in the first bytes: infinities would be a case of their own.
  Status fill(std::uint64_t bytes) {
    if (numbers.empty()) {
      numbers.resize(8 << 20);
      std::uint32_t state = 12345;
      for (std::uint16_t &number : numbers) {
        state = state * 1664525u + 1013904223u;
        number = static_cast<std::uint16_t>((state >> 16 & 0x80ff) | 0x3c00);
      }
    }
    const std::uint64_t part = numbers.size() * 2;
    for (std::uint64_t at = 0; at < bytes; at += part)
      SLUICE_RETURN_IF_ERROR(device->write(memory + at, numbers.data(), std::min(part, bytes - at)));
    return {};
  }

  Operand tensor(DType dtype, const Shape &shape) {
    Operand operand;
    operand.dtype = dtype;
    operand.rank = static_cast<int>(shape.size());
    std::int64_t stride = 1;
    for (int d = operand.rank - 1; d >= 0; --d) {
      operand.shape[d] = operand.extent[d] = operand.global[d] = shape[static_cast<std::size_t>(d)];
      operand.strides[d] = stride;
      stride *= operand.shape[d];
    }
    const std::uint64_t bytes = (static_cast<std::uint64_t>(stride) * dtypeBytes(dtype) + 255) / 256 * 256;
    operand.data = taken + bytes <= size ? memory + taken : nullptr;
    taken += bytes;
    return operand;
  }
  Operand zeros(DType dtype, const Shape &shape) {
    return bytes(tensor(dtype, shape), [](std::vector<char> &) {});
  }
  template <typename T> Operand scalar(DType dtype, T value) {
    return bytes(tensor(dtype, {}), [&](std::vector<char> &to) { std::memcpy(to.data(), &value, sizeof value); });
  }
  /// Indices below `limit`, each as often as the next.
  Operand indices(const Shape &shape, std::int32_t limit) {
    return bytes(tensor(DType::i32, shape), [&](std::vector<char> &to) {
      std::uint32_t state = 1;
      for (std::size_t at = 0; at < to.size(); at += 4) {
        state = state * 1664525u + 1013904223u;
        const auto index = static_cast<std::int32_t>((state >> 8) % static_cast<std::uint32_t>(limit));
        std::memcpy(to.data() + at, &index, 4);
      }
    });
  }
  /// The operand with the bytes that `fill` makes of zeros.
  template <typename Fill> Operand bytes(Operand operand, Fill fill) {
    if (operand.data) {
      std::vector<char> values(static_cast<std::size_t>(operand.elements()) * dtypeBytes(operand.dtype));
      fill(values);
      (void)device->write(operand.data, values.data(), values.size());
    }
    return operand;
  }
  std::vector<char> contents(const Operand &operand) {
    std::vector<char> values(static_cast<std::size_t>(operand.elements()) * dtypeBytes(operand.dtype));
    (void)device->read(values.data(), operand.data, values.size());
    return values;
  }

  /// The least time of a run, in seconds; 0 with a line that says why where it cannot be made.
  double time(const std::string &title, cuda::KernelContext &context, const std::string &name,
              const std::vector<Operand> &in, const std::vector<Operand> &out,
              const std::vector<Attributes::Item> &items) {
    auto fail = [&](const std::string &why) {
      std::printf("%-48s %s\n", title.c_str(), why.c_str());
      failed = true;
      return 0.;
    };
    std::vector<void *> inputs, outputs;
    for (const Operand &operand : in)
      inputs.push_back(operand.data);
    for (const Operand &operand : out)
      outputs.push_back(operand.data);
    if (std::count(inputs.begin(), inputs.end(), nullptr) + std::count(outputs.begin(), outputs.end(), nullptr) != 0)
      return fail("needs more memory than the benchmark has");
    Attributes attributes(items);
    KernelRequest request{in, out, &attributes, 1, workspaceCap(name, in, out, attributes, {"cuda"}), &context};
    Operand scratch = tensor(DType::u8, {static_cast<std::int64_t>(request.workspace) + 1});
    if (!scratch.data)
      return fail("needs more workspace than the benchmark has");
    const PrepareFunction prepare = findCudaKernel(name);
    if (!prepare)
      return fail("is no kernel of CUDA");
    auto kernel = prepare(request);
    if (!kernel.isOk())
      return fail(kernel.status().message());
    cuda::Stream stream = device->stream(0);
    auto run = [&](int times) {
      const double begin = seconds();
      for (int i = 0; i < times; ++i)
        if (Status status = (*kernel)->enqueue(stream, inputs, outputs, scratch.data); !status.isOk())
          return fail(status.message());
      if (Status status = device->synchronize(); !status.isOk())
        return fail(status.message());
      return (seconds() - begin) / times;
    };
    std::vector<std::vector<char>> before;
    for (const Operand &operand : out)
      before.push_back(emulated ? contents(operand) : std::vector<char>());
    double least = run(1);
    for (std::size_t o = 0; emulated && o < out.size(); ++o)
      if (contents(out[o]) == before[o])
        return fail("leaves result " + std::to_string(o) + " as it was");
    if (emulated || least == 0)
      return least;
    const int times = std::clamp(static_cast<int>(0.05 / least), 1, 2000);
    for (int round = 0; round < 5; ++round)
      least = std::min(least, run(times));
    return least;
  }

  void show(const std::string &title, double took, double bytes, double flops) {
    if (took == 0)
      return;
    std::printf("%-48s %10.4f ms", title.c_str(), took * 1e3);
    if (flops > 0)
      std::printf(" %9.1f TFLOP/s, %5.1f %% of the product's rate", flops / took * 1e-12,
                  100 * flops / took / productRate);
    else
      std::printf(" %9.1f GB/s, %5.1f %% of the copy's rate", bytes / took * 1e-9, 100 * bytes / took / copyRate);
    std::printf("\n");
  }

  /// One kernel by us and, where asked for, by cuDNN. `bytes` or `flops`: what it must move or compute.
  void kernel(const std::string &title, const std::string &name, const std::vector<Operand> &in,
              const std::vector<Operand> &out, const std::vector<Attributes::Item> &items, double bytes,
              double flops = 0, bool dnn = false) {
    if (title.find(only) != std::string::npos) {
      show(title, time(title, *kernels, name, in, out, items), bytes, flops);
      if (dnn && byDnn)
        show(title + ", cudnn", time(title + ", cudnn", *byDnn, name, in, out, items), bytes, flops);
      if (Status status = fill(std::min(taken, size)); !status.isOk())
        failed = true;
    }
    taken = 0;
  }
  bool failed = false;
};

Attributes::Item integer(std::string_view name, std::int64_t value) { return {name, value, 0, {}}; }

std::int64_t bytesOf(const Operand &operand) {
  return operand.elements() * static_cast<std::int64_t>(dtypeBytes(operand.dtype));
}

/// The two rates that the others are held against.
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

/// What moves its operands once.
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

/// A bias' gradient, an embedding's, and rotary positions.
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
    Operand x = b.tensor(t, {rows, classes}), targets = b.zeros(DType::i32, {rows});
    moved(b, "cross_entropy" + type, "cross_entropy", {x, targets},
          {b.tensor(DType::f32, {}), b.tensor(DType::f32, {rows})});
    x = b.tensor(t, {rows, classes});
    targets = b.zeros(DType::i32, {rows});
    Operand slope = b.tensor(DType::f32, {}), lse = b.zeros(DType::f32, {rows});
    moved(b, "cross_entropy_grad" + type, "cross_entropy_grad", {slope, x, targets, lse},
          {b.tensor(t, {rows, classes})});
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

/// As a machine's file has them; the communicator's takes two GPUs to measure.
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
