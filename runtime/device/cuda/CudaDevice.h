//===- CudaDevice.h - the device of one rank on a GPU -------------------------------===//
//
// Streams and events are CUDA's; a command is executed by the caller, which puts its work on the stream. What goes wrong on
// the device later shows at the next call, as CUDA reports it. A step may be captured as one graph and replayed.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
#define SLUICE_RUNTIME_DEVICE_CUDA_CUDADEVICE_H

#include "runtime/base/cuda/Table.h"
#include "runtime/device/Device.h"
#include "runtime/device/StreamClock.h"

#include <vector>

namespace sluice {

struct CudaDeviceOptions {
  /// Which of the machine's devices.
  int ordinal = 0;
  /// Not owned; null: none. Commands wait for it on their stream.
  DelayInjector *delays = nullptr;
};

/// A recorded step. Belongs to the device that made it.
using GraphId = std::uint32_t;

class CudaDevice : public Device {
public:
  static Result<std::unique_ptr<CudaDevice>> create(const CudaDeviceOptions &options);

  virtual const cuda::Table &functions() const = 0;
  virtual cuda::Stream stream(StreamId stream) const = 0;
  /// Makes the device's context the calling thread's.
  virtual Status use() const = 0;
  /// "sm_90".
  virtual std::string architecture() const = 0;
  /// A failure that something beside the streams has found; thread-safe. The first one is kept, later commands are not run.
  virtual void report(const Status &status) = 0;

  /// Times of the streams; belongs to the device.
  virtual StreamClock &clock() = 0;

  /// Begins to record what the streams are given; the first stream leads, the others join it by events.
  virtual Status beginCapture() = 0;
  /// Ends it and makes a graph of it, or throws the record away and says why.
  virtual Result<GraphId> endCapture() = 0;
  /// Runs a recorded step on the first stream.
  virtual Status launch(GraphId graph) = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
