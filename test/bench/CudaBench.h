//===- CudaBench.h - the device of bench-cuda, and the time of a kernel on it ---------------===//
#ifndef SLUICE_TEST_BENCH_CUDABENCH_H
#define SLUICE_TEST_BENCH_CUDABENCH_H

#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/kernel/Kernel.h"
#include "runtime/kernel/catalogue/DnnAttention.h"
#include "runtime/kernel/cuda/KernelContext.h"
#include "test/cuda/Fake.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace sluice::test {

using Shape = std::vector<std::int64_t>;

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline Attributes::Item integer(std::string_view name, std::int64_t value) { return {name, value, 0, {}}; }

/// The device, its one allocation, and the used bytes of that.
struct Bench {
  std::optional<FakeCuda> fake;
  std::unique_ptr<CudaDevice> device;
  std::unique_ptr<cuda::KernelContext> kernels, byDnn;
  char *memory = nullptr;
  std::uint64_t size = 0, taken = 0;
  bool emulated = false;
  std::string only;
  double copyRate = 0, productRate = 0;
  /// Device memory in use with only a context.
  std::uint64_t context = 0;
  std::vector<std::uint16_t> numbers;

  /// Used and total bytes of the device's memory.
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

  /// Small numbers of either sign in the first bytes: infinities would have a different speed.
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
    Operand operand = Operand::dense(dtype, shape);
    const std::uint64_t bytes = (static_cast<std::uint64_t>(operand.elements()) * dtypeBytes(dtype) + 255) / 256 * 256;
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
  /// Indices below `limit`, each equally often.
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
  /// The operand with the bytes that `fill` writes over zeros.
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

  /// The minimum time of a run, in seconds; 0, with a line that states the reason, if it cannot run.
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
    std::vector<std::vector<char>> before;
    for (const Operand &operand : out)
      before.push_back(emulated ? contents(operand) : std::vector<char>());
    const Result<double> least =
        leastTime([&] { return (*kernel)->enqueue(device->stream(0), inputs, outputs, scratch.data); });
    if (!least.isOk())
      return fail(least.status().message());
    for (std::size_t o = 0; emulated && o < out.size(); ++o)
      if (contents(out[o]) == before[o])
        return fail("leaves result " + std::to_string(o) + " as it was");
    return *least;
  }

  /// The minimum time of a run, in seconds, of many between two waits; on the emulated device of the only run.
  template <typename Enqueue> Result<double> leastTime(Enqueue enqueue) {
    double least = 0;
    int times = 1;
    for (int round = 0; round < (emulated ? 1 : 6); ++round) {
      const double begin = seconds();
      for (int i = 0; i < times; ++i)
        SLUICE_RETURN_IF_ERROR(enqueue());
      SLUICE_RETURN_IF_ERROR(device->synchronize());
      const double took = (seconds() - begin) / times;
      least = round == 0 ? took : std::min(least, took);
      if (round == 0)
        times = std::clamp(static_cast<int>(0.05 / least), 1, 2000);
    }
    return least;
  }

  /// The time of a copy that reads and writes as many bytes as `bytes`, run like a kernel.
  Result<double> copyTime(double bytes) {
    const std::uint64_t half = static_cast<std::uint64_t>(bytes / 2) / 256 * 256;
    return leastTime([&] { return device->copy(device->stream(0), memory, memory + half, half); });
  }

  void show(const std::string &title, double took, double bytes, double flops) {
    if (took == 0)
      return;
    std::printf("%-48s %10.4f ms", title.c_str(), took * 1e3);
    if (flops > 0)
      std::printf(" %9.1f TFLOP/s, %5.1f %% of the product's rate", flops / took * 1e-12,
                  100 * flops / took / productRate);
    else {
      const Result<double> copy = copyTime(bytes);
      failed |= !copy.isOk();
      std::printf(" %9.1f GB/s, %5.1f %% of the copy's rate, %5.1f %% of a copy of as many bytes", bytes / took * 1e-9,
                  100 * bytes / took / copyRate, copy.isOk() ? 100 * *copy / took : 0);
    }
    std::printf("\n");
  }

  /// One kernel of Sluice and, if requested, of cuDNN. `bytes` or `flops`: the minimum of the algorithm.
  void kernel(const std::string &title, const std::string &name, const std::vector<Operand> &in,
              const std::vector<Operand> &out, const std::vector<Attributes::Item> &items, double bytes,
              double flops = 0, bool dnn = false) {
    if (title.find(only) != std::string::npos) {
      show(title, time(title, *kernels, name, in, out, items), bytes, flops);
      if (dnn && byDnn) {
        // The attributes by which a plan states cuDNN.
        std::vector<Attributes::Item> stated = items;
        stated.push_back(integer("cudnn", 1));
        if (name == "attention_grad")
          stated.push_back(integer("rows", cuda::dnnAttentionGradRows(in[1], in[2])));
        show(title + ", cudnn", time(title + ", cudnn", *byDnn, name, in, out, stated), bytes, flops);
      }
      if (Status status = fill(std::min(taken, size)); !status.isOk())
        failed = true;
    }
    taken = 0;
  }
  bool failed = false;
};

inline std::int64_t bytesOf(const Operand &operand) {
  return operand.elements() * static_cast<std::int64_t>(dtypeBytes(operand.dtype));
}

} // namespace sluice::test

#endif // SLUICE_TEST_BENCH_CUDABENCH_H
