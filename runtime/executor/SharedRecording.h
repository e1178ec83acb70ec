//===- SharedRecording.h - a step of ranks that share one GPU, as one graph -------------------------===//
//
// Ranks that are threads of one process meet in each collective, so their streams wait for each other's: their steps
// are one graph or none. Rank 0 begins the capture; the streams of the others join it by an event, and join it again at
// the end. Rank 0 launches a replay, after all earlier work and before all later work of every rank's streams. All
// ranks make each call, each on its own thread; a failure on one is a failure on all, so all continue in the same way:
// after a failure of begin() or end() the capture is discarded, and all ranks issue the step.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_SHAREDRECORDING_H
#define SLUICE_RUNTIME_EXECUTOR_SHAREDRECORDING_H

#include "runtime/collective/Communicator.h"
#include "runtime/device/cuda/CudaDevice.h"

namespace sluice {

class SharedRecording {
public:
  /// `meeting` is of all ranks, on the host.
  SharedRecording(CudaDevice &device, std::unique_ptr<Communicator> meeting);

  Status begin();
  /// `issued` is the result of what this rank recorded.
  Result<GraphId> end(const Status &issued);
  Status replay(GraphId graph);

private:
  /// The data of a rank that the others read; its events do not change until the next rendezvous.
  struct Shown {
    std::uint64_t failed = 0;
    const cuda::Event *events = nullptr;
    std::uint64_t count = 0;
  };
  bool isRankZero() const { return meeting->rank() == 0; }
  /// All ranks' events, one after another, without this one's; the failure of any rank.
  Status meet(const Status &own, std::span<const cuda::Event> events);
  /// Discards the capture on all ranks; returns the reason.
  Status abandon(Status reason);

  CudaDevice &device;
  const std::unique_ptr<Communicator> meeting;
  std::vector<Shown> shown;
  std::vector<cuda::Event> own, others;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_SHAREDRECORDING_H
