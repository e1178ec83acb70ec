//===- CudaDevice.h - the device of one rank on a GPU -------------------------------===//
//
// Streams and events are CUDA's; the caller executes a command, which enqueues its work on the stream. A later failure
// on the device is reported by the next call, as in CUDA. A step may be captured as one graph and replayed.
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
  /// Compute threads of work on the host.
  int threads = 1;
};

/// A captured step. Belongs to the device that captured it.
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
  /// Reports a failure that is not of a stream; thread-safe. The first one is kept, later commands do not run.
  virtual void report(const Status &status) = 0;

  /// Waits for streams call `check` with the time at which they began, and end with the error that it returns. The
  /// device is then abandoned: streams may still run, so nothing waits for them and nothing is destroyed.
  virtual void watchWaits(std::function<Status(std::chrono::steady_clock::time_point)> check) = 0;
  virtual bool isAbandoned() const = 0;

  /// Times of the streams; belongs to the device.
  virtual StreamClock &clock() = 0;

  /// Captures the work that is issued to the streams; the first stream leads, the others join it by events.
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
  /// Runs a captured step on the first stream, after all issued work and after `others`.
  virtual Status launch(GraphId graph, std::span<const cuda::Event> others = {}) = 0;

  //===--- Ranks that share a GPU: one device leads, those of other ranks take part (SharedRecording.h) ---===//
  /// Recorded at the beginning of a capture, and after a launch.
  virtual cuda::Event origin() const = 0;
  /// One per stream, recorded by leaveCapture() and offer().
  virtual std::vector<cuda::Event> joins() const = 0;
  /// Joins the streams to the capture of another device; leaveCapture() records their ends.
  virtual Status joinCapture(cuda::Event origin) = 0;
  virtual Result<GraphId> leaveCapture() = 0;
  /// offer() records the streams' work before a launch by the other device; follow() makes their later work wait for
  /// it.
  virtual Status offer() = 0;
  virtual Status follow(GraphId graph, cuda::Event launched) = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
