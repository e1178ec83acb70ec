//===- KernelHarness.h - running CUDA kernels, emulated or on a GPU, against the references ------------===//
//
// Each case runs twice, the blocks and the threads of a block in two random orders, and the bits must be equal.
// Accesses of both runs are checked for races (Races.h). With SLUICE_TEST_GPU=gpu the kernels run on the machine's GPU
// in place of the emulated one, each case twice as well, on memory of the device that tensors are copied to;
// SLUICE_TEST_GPU=emulated copies in the same way.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_CUDA_KERNELHARNESS_H
#define SLUICE_TEST_CUDA_KERNELHARNESS_H

#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/kernel/cuda/KernelContext.h"
#include "test/cuda/Emulator.h"
#include "test/cuda/Fake.h"
#include "test/unit/kernel/Harness.h"

#include <cstdlib>
#include <optional>
#include <set>

namespace sluice::test {

/// testing::Test also has a Run.
using KernelRun = Run;

/// Kernels that some case has compared.
inline std::set<std::string> compared;

class CudaKernels : public testing::Test {
protected:
  static constexpr std::size_t workspaceAlignment = 256;
  /// True if tensors are copied to memory of the device, which is aligned as in a plan.
  bool copies = !where().empty();
  /// True if runs are checked for races, with 44 bytes for each byte of the operands.
  bool checksRaces = true;
  /// True if kernels run on a GPU, so that the fake has no calls.
  static bool onGpu() { return where() == "gpu"; }
  static std::string where() {
    const char *asked = std::getenv("SLUICE_TEST_GPU");
    return asked ? asked : "";
  }

  void SetUp() override {
    if (!onGpu())
      fake.emplace();
    auto made = CudaDevice::create({});
    ASSERT_TRUE(made.isOk()) << made.status().message();
    device = std::move(*made);
    if (copies) {
      auto memory = device->allocate(MemorySpace::device, arenaBytes, "test");
      ASSERT_TRUE(memory.isOk()) << memory.status().message();
      arena = static_cast<char *>(*memory);
    }
    ASSERT_TRUE(device->createStream("compute", 0).isOk());
    auto context = cuda::KernelContext::create(device->functions(), 0, false);
    ASSERT_TRUE(context.isOk()) << context.status().message();
    kernels = std::move(*context);
  }
  void TearDown() override {
    setOrder(0);
    if (fake) {
      EXPECT_EQ(fake->complaint(), "");
    }
    kernels.reset();
    device.reset();
    if (fake) {
      EXPECT_EQ(fake->liveObjects(), 0);
    }
  }

  /// A tensor's memory on the device: the tensor's buffer, or a copy in the arena. Null if the arena is full.
  char *place(const std::vector<char> &memory, std::uint64_t &taken) {
    if (!arena)
      return const_cast<char *>(memory.data());
    char *at = arena + taken;
    taken += (memory.size() + 255) / 256 * 256;
    return taken <= arenaBytes && device->write(at, memory.data(), memory.size()).isOk() ? at : nullptr;
  }

  Status runOnDevice(const KernelRun &run, std::vector<Tensor> &inputs, std::vector<Tensor> &outputs) {
    PrepareFunction prepare = findCudaKernel(run.kernel);
    if (!prepare)
      return internalError("no cuda kernel " + run.kernel);
    std::vector<Operand> in, out;
    std::vector<void *> inData, outData;
    std::vector<char *> places;
    std::uint64_t taken = 0;
    for (std::vector<Tensor> *list : {&inputs, &outputs})
      for (Tensor &tensor : *list) {
        const std::size_t output = places.size() - inputs.size();
        const auto shares = [&](const auto &pair) { return list == &outputs && pair.second == output; };
        const auto pair = std::ranges::find_if(inPlace, shares);
        places.push_back(pair == inPlace.end() ? place(tensor.memory, taken) : places[pair->first]);
        if (!places.back())
          return internalError("no room on the device for the tensors of " + run.kernel);
        Operand operand = tensor.bound();
        operand.data = places.back() + (static_cast<char *>(operand.data) - tensor.memory.data());
        (list == &inputs ? in : out).push_back(operand);
        (list == &inputs ? inData : outData).push_back(operand.data);
      }
    Attributes attributes(run.attributes);
    KernelRequest request{in, out, &attributes, 1, 0, kernels.get(), smMargin};
    request.workspace = workspaceCap(run.kernel, in, out, attributes, {"cuda"});
    // The library may have 32 MiB; the fake gets less, so that the test is quick.
    if (!onGpu() && (run.kernel.starts_with("matmul") || run.kernel.starts_with("linear_cross_entropy")))
      request.workspace -= (std::uint64_t(32) << 20) - 4096;
    if (!onGpu() && run.kernel.starts_with("conv2d"))
      request.workspace -= (std::uint64_t(32) << 20) - 65536;
    auto kernel = prepare(request);
    if (!kernel.isOk())
      return kernel.takeStatus();
    std::vector<char> memory(request.workspace + 2 * workspaceAlignment, Tensor::pattern);
    char *scratch = place(memory, taken);
    if (!scratch)
      return internalError("no room on the device for the workspace of " + run.kernel);
    const std::size_t shift = workspaceAlignment - reinterpret_cast<std::uintptr_t>(scratch) % workspaceAlignment;
    Races races;
    if (checksRaces && Traffic::isAvailable() && !onGpu()) {
      for (std::size_t i = 0; i < places.size(); ++i)
        races.track(places[i], (i < inputs.size() ? inputs[i] : outputs[i - inputs.size()]).memory.size());
      races.track(scratch, memory.size());
      setRaces(&races);
    }
    Status status = (*kernel)->enqueue(device->stream(0), inData, outData, scratch + shift);
    if (status.isOk())
      status = device->synchronize();
    setRaces(nullptr);
    SLUICE_RETURN_IF_ERROR(std::move(status));
    if (!races.found().empty())
      return internalError(races.found());
    if (arena) {
      SLUICE_RETURN_IF_ERROR(device->read(memory.data(), scratch, memory.size()));
      for (std::size_t i = 0; i < outputs.size(); ++i)
        SLUICE_RETURN_IF_ERROR(
            device->read(outputs[i].memory.data(), places[inputs.size() + i], outputs[i].memory.size()));
    } else {
      for (const auto &[input, output] : inPlace)
        outputs[output].memory = inputs[input].memory;
    }
    for (std::size_t i = shift + request.workspace; i < memory.size(); ++i)
      if (memory[i] != Tensor::pattern)
        return internalError("kernel " + run.kernel + " wrote beyond its workspace");
    for (const Tensor &tensor : outputs)
      if (!tensor.isUntouchedOutside())
        return internalError("kernel " + run.kernel + " wrote outside its output");
    return {};
  }

  /// `inner`: the rounding within the kernel relative to the result; by default that of the type in which it
  /// computes.
  void compare(KernelRun run, const std::vector<Tensor> &inputs, const std::vector<Tensor> &outputs, double depth,
               const std::string &what, double inner = 0) {
    compared.insert(run.kernel);
    std::vector<Tensor> in = inputs, want = outputs;
    std::vector<Tensor *> inAt, outAt;
    for (Tensor &tensor : in)
      inAt.push_back(&tensor);
    for (Tensor &tensor : want)
      outAt.push_back(&tensor);
    run.flavour = KernelFlavour::reference;
    mustRun(run, inAt, outAt);
    std::vector<Tensor> got = outputs, back = outputs, again = inputs;
    setOrder(++seed);
    Status status = runOnDevice(run, in, got);
    ASSERT_TRUE(status.isOk()) << run.kernel << " " << what << ": " << status.message();
    setOrder(++seed);
    status = runOnDevice(run, again, back);
    setOrder(0);
    ASSERT_TRUE(status.isOk()) << run.kernel << " " << what << ": " << status.message();
    for (std::size_t i = 0; i < want.size(); ++i) {
      const std::vector<double> values = want[i].values();
      const DType stored = outputs[i].operand.dtype;
      const bool lesser = stored == DType::f64 && !inputs.empty() && inputs[0].operand.dtype != DType::f64;
      const double unit = stored == DType::bf16            ? 0x1p-8
                          : stored == DType::f16           ? 0x1p-11
                          : stored == DType::f32 || lesser ? 0x1p-23
                                                           : 0x1p-50;
      const double inside = inner != 0                        ? inner
                            : stored == DType::f64 && !lesser ? 0x1p-50
                                                              : 0x1p-23,
                   size = magnitude(values);
      expectNear(got[i], values, 4 * unit, inside * (size == 0 ? 1 : size) * (4 + std::sqrt(depth)),
                 run.kernel + " " + what + " output " + std::to_string(i));
      EXPECT_EQ(got[i].memory, back[i].memory) << run.kernel << " " << what << " depends on the order of threads";
    }
  }

  /// Types, layouts and shapes.
  template <typename Body> void forCases(const std::vector<Shape> &shapes, Body body) {
    for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
      for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
        for (const Shape &shape : shapes)
          body(dtype, shape, layout,
               std::string(dtypeName(dtype)) +
                   (layout == Layout::dense    ? " dense "
                    : layout == Layout::padded ? " padded "
                                               : " permuted ") +
                   std::to_string(shape.size()) + "-d of " + std::to_string(shape.back()));
  }
  static DType statisticsOf(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

  static constexpr std::uint64_t arenaBytes = std::uint64_t(256) << 20;
  std::optional<FakeCuda> fake;
  /// Of the random orders; each run has another.
  unsigned seed = 0;
  /// Memory of the device for tensors; null if kernels use the host's tensors.
  char *arena = nullptr;
  std::unique_ptr<CudaDevice> device;
  std::unique_ptr<cuda::KernelContext> kernels;
  /// Inputs and outputs that have one place, of equal layouts.
  std::vector<std::pair<std::size_t, std::size_t>> inPlace;
  /// SMs that a kernel leaves free.
  std::uint32_t smMargin = 0;
};

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_KERNELHARNESS_H
