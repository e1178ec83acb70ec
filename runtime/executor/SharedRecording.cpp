//===- SharedRecording.cpp - a step of ranks that share one GPU, as one graph -------------------------===//
#include "runtime/executor/SharedRecording.h"

namespace sluice {

SharedRecording::SharedRecording(CudaDevice &device, std::unique_ptr<Communicator> meeting)
    : device(device), meeting(std::move(meeting)), shown(static_cast<std::size_t>(this->meeting->size())) {}

Status SharedRecording::meet(const Status &status, std::span<const cuda::Event> events) {
  const Shown mine{!status.isOk(), events.data(), events.size()};
  const SegmentPointers segment{&mine, shown.data(), sizeof mine};
  SLUICE_RETURN_IF_ERROR(meeting->allGather({&segment, 1}, DType::u8, {0, "graph"}, nullptr));
  others.clear();
  bool failed = false;
  for (std::size_t r = 0; r < shown.size(); ++r) {
    failed = failed || shown[r].failed;
    if (static_cast<int>(r) != meeting->rank())
      others.insert(others.end(), shown[r].events, shown[r].events + shown[r].count);
  }
  // No rank changes its entry before all have read it.
  SLUICE_RETURN_IF_ERROR(meeting->barrier({0, "graph"}));
  return status.isOk() && failed ? failedError("a different rank of the graph failed") : status;
}

Status SharedRecording::abandon(Status reason) {
  if (isRankZero())
    device.discardCapture();
  // No stream of any rank is in the capture.
  Status status = meet({}, {});
  if (status.isOk())
    status = device.resumeIssue();
  return status.isOk() ? std::move(reason) : std::move(status);
}

Status SharedRecording::begin() {
  Status status = isRankZero() ? device.beginCapture() : Status();
  own.assign(1, device.origin());
  status = meet(status, isRankZero() ? std::span<const cuda::Event>(own) : std::span<const cuda::Event>());
  if (status.isOk())
    status = meet(isRankZero() ? Status() : device.joinCapture(others.front()), {});
  return status.isOk() ? status : abandon(std::move(status));
}

Result<GraphId> SharedRecording::end(const Status &issued) {
  Result<GraphId> graph = Result<GraphId>(GraphId(0));
  if (!issued.isOk())
    graph = Result<GraphId>(Status(issued));
  else if (!isRankZero())
    graph = device.leaveCapture();
  own = device.joins();
  // The graph also waits for all work of the followers, which is done before their events.
  Status status = meet(graph.isOk() ? Status() : graph.takeStatus(),
                       isRankZero() ? std::span<const cuda::Event>() : std::span<const cuda::Event>(own));
  if (status.isOk() && isRankZero()) {
    graph = device.endCapture(others);
    status = meet(graph.isOk() ? Status() : graph.takeStatus(), {});
  } else if (status.isOk()) {
    status = meet({}, {});
  }
  if (!status.isOk())
    return abandon(std::move(status));
  return graph;
}

Status SharedRecording::replay(GraphId graph) {
  Status status = isRankZero() ? Status() : device.offer();
  own = isRankZero() ? std::vector<cuda::Event>(1, device.origin()) : device.joins();
  SLUICE_RETURN_IF_ERROR(meet(status, own));
  const cuda::Event begun = others.empty() ? nullptr : others.front();
  if (isRankZero())
    status = device.launch(graph, others);
  SLUICE_RETURN_IF_ERROR(meet(status, {}));
  return isRankZero() ? Status() : device.follow(graph, begun);
}

} // namespace sluice
