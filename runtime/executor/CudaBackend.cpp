//===- CudaBackend.cpp - a GPU as an executor's device -----------------------------===//
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/executor/Backend.h"
#include "runtime/executor/SharedRecording.h"
#include "runtime/kernel/cuda/KernelContext.h"

#include <charconv>
#include <mutex>
#include <utility>

namespace sluice {
namespace {

/// Streams that still run may use a device and its kernels until the process ends.
void keepForever(std::unique_ptr<Device> device, std::unique_ptr<cuda::KernelContext> kernels) {
  using Kept = std::vector<std::pair<std::unique_ptr<Device>, std::unique_ptr<cuda::KernelContext>>>;
  static std::mutex mutex;
  static Kept *const kept = new Kept;
  std::lock_guard lock(mutex);
  kept->emplace_back(std::move(device), std::move(kernels));
}

class CudaBackend final : public Backend {
public:
  CudaBackend(std::unique_ptr<CudaDevice> device, std::unique_ptr<cuda::KernelContext> kernels, bool recording)
      : Backend(std::move(device)), gpu(static_cast<CudaDevice &>(*owned)), kernels(std::move(kernels)),
        recording(recording) {}
  ~CudaBackend() override {
    // Work that still runs may use the kernels' code.
    (void)gpu.synchronize();
    if (gpu.isAbandoned())
      keepForever(std::move(owned), std::move(kernels));
  }

  cuda::KernelContext *kernelContext() override { return kernels.get(); }
  StreamClock *clock() override { return &gpu.clock(); }
  void watchWaits(std::function<Status(std::chrono::steady_clock::time_point)> check) override {
    gpu.watchWaits(std::move(check));
  }
  bool isHost() const override { return false; }
  bool records() const override { return recording; }
  void shareRecordings(std::unique_ptr<Communicator> meeting) override {
    shared = std::make_unique<SharedRecording>(gpu, std::move(meeting));
  }
  bool sharesRecordings() const override { return shared != nullptr; }
  Status beginRecording() override {
    if (shared)
      return shared->begin();
    Status begun = gpu.beginCapture();
    return begun.isOk() ? begun : abandon(std::move(begun));
  }
  Result<std::uint32_t> endRecording(const Status &issued) override {
    if (shared)
      return shared->end(issued);
    Result<GraphId> graph = issued.isOk() ? gpu.endCapture() : Result<GraphId>(Status(issued));
    return graph.isOk() ? std::move(graph) : Result<GraphId>(abandon(graph.takeStatus()));
  }
  Status replay(std::uint32_t graph) override { return shared ? shared->replay(graph) : gpu.launch(graph); }
  void destroyRecordings() override { gpu.destroyGraphs(); }

private:
  Status abandon(Status reason) {
    gpu.discardCapture();
    Status resumed = gpu.resumeIssue();
    return resumed.isOk() ? std::move(reason) : std::move(resumed);
  }

  CudaDevice &gpu;
  /// Null where no other rank of the process uses the device.
  std::unique_ptr<SharedRecording> shared;
  /// Destroyed first: its code is unloaded while there is a context.
  std::unique_ptr<cuda::KernelContext> kernels;
  const bool recording;
};

/// 90 of "sm_90".
int numberOf(std::string_view architecture) {
  int number = 0;
  if (architecture.starts_with("sm_"))
    std::from_chars(architecture.data() + 3, architecture.data() + architecture.size(), number);
  return number;
}

} // namespace

Result<std::unique_ptr<Backend>> createCudaBackend(const plan::PlanT &plan, int rank, const ExecutorOptions &options,
                                                   int threads) {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<CudaDevice> device,
                          CudaDevice::create({options.device, options.delays, threads}));
  if (numberOf(plan.target->arch) > numberOf(device->architecture()))
    return refusedError("architecture of the device, expected " + plan.target->arch +
                        " as the plan's target.arch but got " + device->architecture());
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<cuda::KernelContext> kernels,
                          cuda::KernelContext::create(device->functions(), options.device, options.tf32));
  if (options.algorithms)
    SLUICE_RETURN_IF_ERROR(kernels->useAlgorithms(options.algorithms, digestText(plan)));
  if (options.dnn)
    SLUICE_RETURN_IF_ERROR(kernels->useDnn(options.dnn));
  // A delay needs the instruction and repetition, which a replay does not have.
  const bool recording = options.graphs != GraphMode::off && !options.delays;
  return std::unique_ptr<Backend>(std::make_unique<CudaBackend>(std::move(device), std::move(kernels), recording));
}

} // namespace sluice
