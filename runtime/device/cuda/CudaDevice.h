//===- CudaDevice.h - the device of one rank on a GPU -------------------------------===//
//
// Streams and events are CUDA's; a command is executed by the caller, which puts its work on the stream. What goes
// wrong on the device later shows at the next call, as CUDA reports it. A step may be captured as one graph and
// replayed.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
#define SLUICE_RUNTIME_DEVICE_CUDA_CUDADEVICE_H

#include "runtime/base/cuda/Table.h"
#include "runtime/device/Device.h"
#include "runtime/device/StreamClock.h"

#include <chrono>
#include <functional>
#include <span>
#include <vector>

namespace sluice {

struct CudaDeviceOptions {
  /// Which of the machine's devices.
  int ordinal = 0;
  /// Not owned; null: none. Commands wait for it on their stream.
  DelayInjector *delays = nullptr;
  /// Compute threads of what the host runs.
  int threads = 1;
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
  /// A failure that something beside the streams has found; thread-safe. The first one is kept, later commands are not
  /// run.
  virtual void report(const Status &status) = 0;

  /// Waits for streams call `check` with the time since which they wait, and end with the error that it returns. After
  /// that the device is abandoned: streams may still run, so nothing of it is waited for or destroyed.
  virtual void watchWaits(std::function<Status(std::chrono::steady_clock::time_point)> check) = 0;
  virtual bool isAbandoned() const = 0;

  /// Times of the streams; belongs to the device.
  virtual StreamClock &clock() = 0;

  /// Captures what the streams are given; the first stream leads, the others join it by events.
  virtual Status beginCapture() = 0;
  /// Ends the capture and instantiates it. The graph also waits for `others`: events of devices that have joined the
  /// capture. After a failure the caller abandons the capture.
  virtual Result<GraphId> endCapture(std::span<const cuda::Event> others = {}) = 0;
  /// Discards the capture, if this device leads it and it has not ended.
  virtual void discardCapture() = 0;
  /// After a discarded capture: the streams are issued to again, and no event refers to the capture.
  virtual Status resumeIssue() = 0;
  /// Destroys the graphs. A communicator whose collectives a graph holds cannot be destroyed before.
  virtual void destroyGraphs() = 0;
  /// Runs a recorded step on the first stream, behind what all streams were given and behind `others`.
  virtual Status launch(GraphId graph, std::span<const cuda::Event> others = {}) = 0;

  //===--- Ranks that share a GPU: one device leads, those of other ranks take part (SharedRecording.h) ---===//
  /// Recorded where a capture begins, and behind a launch.
  virtual cuda::Event origin() const = 0;
  /// One a stream, recorded by leaveCapture() and offer().
  virtual std::vector<cuda::Event> joins() const = 0;
  /// Brings the streams into another device's capture, and records where they leave it.
  virtual Status joinCapture(cuda::Event origin) = 0;
  virtual Result<GraphId> leaveCapture() = 0;
  /// Records what the streams were given before a launch by the other device, and puts what they will be given behind
  /// it.
  virtual Status offer() = 0;
  virtual Status follow(GraphId graph, cuda::Event launched) = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
