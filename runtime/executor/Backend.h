//===- Backend.h - the parts of an executor that depend on the device --------------===//
//
// The only place where an executor depends on the plan's device. Everything else uses Device, kernels by name, and
// communicators.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_BACKEND_H
#define SLUICE_RUNTIME_EXECUTOR_BACKEND_H

#include "runtime/device/StreamClock.h"
#include "runtime/executor/Executor.h"

#include <chrono>

namespace sluice {

/// That of the CPU; a GPU has a subclass.
class Backend {
public:
  explicit Backend(std::unique_ptr<Device> device) : owned(std::move(device)) {}
  virtual ~Backend() = default;
  Device &device() { return *owned; }
  /// Null on the CPU.
  virtual cuda::KernelContext *kernelContext() { return nullptr; }
  /// For a device whose streams run asynchronously to the caller; null on the CPU.
  virtual StreamClock *clock() { return nullptr; }
  /// Waits for the device's streams call `check`, and end with its error.
  virtual void watchWaits(std::function<Status(std::chrono::steady_clock::time_point)> check) {}
  /// True if the device's memory is host memory, so that copies need no stream.
  virtual bool isHost() const { return true; }

  /// True if steps can be recorded and replayed. After a failure of beginRecording() or endRecording() nothing is
  /// recorded, and the step can be issued.
  virtual bool records() const { return false; }
  virtual Status beginRecording() { return internalError("this device records no steps"); }
  /// `issued` is the result of the recorded work.
  virtual Result<std::uint32_t> endRecording(const Status &issued) {
    return internalError("this device records no steps");
  }
  /// Ranks of this process share the device: they record and replay together, synchronized by `meeting` on the host.
  virtual void shareRecordings(std::unique_ptr<Communicator> meeting) {}
  /// If true, a rank that fails while it records continues to the end, because the others wait for it in collectives.
  virtual bool sharesRecordings() const { return false; }
  virtual Status replay(std::uint32_t recording) { return internalError("this device records no steps"); }
  /// Before the communicators whose collectives they hold are destroyed.
  virtual void destroyRecordings() {}

protected:
  std::unique_ptr<Device> owned;
};

/// The backend of the plan's device. `threads` is the number of CPU threads of a rank.
Result<std::unique_ptr<Backend>> createBackend(const plan::PlanT &plan, int rank, const ExecutorOptions &options,
                                               int threads);
/// The backend of a GPU.
Result<std::unique_ptr<Backend>> createCudaBackend(const plan::PlanT &plan, int rank, const ExecutorOptions &options,
                                                   int threads);

/// True for a plan whose device is a GPU.
bool isCudaPlan(const plan::PlanT &plan);
/// The kernel of that name for the plan's device, or for the host if `processor` is the host; null if there is no such
/// kernel.
PrepareFunction findKernelOf(const plan::PlanT &plan, const ExecutorOptions &options, std::string_view name,
                             plan::Processor processor = plan::Processor::device);

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_BACKEND_H
