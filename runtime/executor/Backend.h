//===- Backend.h - what a kind of device brings to an executor ---------------------===//
//
// The one place where an executor asks which device a plan is for. Everything else speaks to Device, to kernels found by
// name, and to communicators.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_BACKEND_H
#define SLUICE_RUNTIME_EXECUTOR_BACKEND_H

#include "runtime/device/StreamClock.h"
#include "runtime/executor/Executor.h"

#include <chrono>

namespace sluice {

class Backend {
public:
  virtual ~Backend() = default;
  virtual Device &device() = 0;
  /// Null on the CPU.
  virtual cuda::KernelContext *kernelContext() { return nullptr; }
  /// Of a device whose streams run apart from their caller; null on the CPU.
  virtual StreamClock *clock() { return nullptr; }
  /// Waits for the device's streams call `check`, and end with its error.
  virtual void watchWaits(std::function<Status(std::chrono::steady_clock::time_point)> check) {}
  /// True where the device's memory and the host's are one, so that moves need no stream.
  virtual bool isHost() const { return true; }

  /// Can a step be recorded and replayed? After a failure of beginRecording() or endRecording() nothing is recorded, and the
  /// step can be issued.
  virtual bool records() const { return false; }
  virtual Status beginRecording() { return internalError("this device records no steps"); }
  /// `issued` is the result of what was recorded.
  virtual Result<std::uint32_t> endRecording(const Status &issued) { return internalError("this device records no steps"); }
  /// Ranks of this process share the device: they record and replay together, and meet by `meeting` on the host.
  virtual void shareRecordings(std::unique_ptr<Communicator> meeting) {}
  /// Then a rank that fails while it records goes on to the end, because the others wait for it in collectives.
  virtual bool sharesRecordings() const { return false; }
  virtual Status replay(std::uint32_t recording) { return internalError("this device records no steps"); }
  /// Before the communicators whose collectives they hold are destroyed.
  virtual void destroyRecordings() {}
};

/// The backend of the plan's device. `threads` is what a rank has of the CPU.
Result<std::unique_ptr<Backend>> createBackend(const plan::PlanT &plan, int rank, const ExecutorOptions &options, int threads);
/// That of a GPU.
Result<std::unique_ptr<Backend>> createCudaBackend(const plan::PlanT &plan, int rank, const ExecutorOptions &options, int threads);

/// Is it for a GPU?
bool isCudaPlan(const plan::PlanT &plan);
/// The kernel by that name of the plan's device, or of the host beside it; null where there is none.
PrepareFunction findKernelOf(const plan::PlanT &plan, const ExecutorOptions &options, std::string_view name,
                             plan::Processor processor = plan::Processor::device);

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_BACKEND_H
