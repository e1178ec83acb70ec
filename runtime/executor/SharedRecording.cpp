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
  // Nobody changes what it shows before all have read it.
  SLUICE_RETURN_IF_ERROR(meeting->barrier({0, "graph"}));
  return status.isOk() && failed ? failedError("another rank of the graph failed") : status;
}

Status SharedRecording::begin() {
  Status status = leads() ? device.beginCapture() : Status();
  own.assign(1, device.origin());
  SLUICE_RETURN_IF_ERROR(meet(status, leads() ? std::span<const cuda::Event>(own) : std::span<const cuda::Event>()));
  if (!leads())
    status = device.joinCapture(others.front());
  return meet(status, {});
}

Result<GraphId> SharedRecording::end() {
  // Followers first: all that they were given is behind the events that they show.
  Result<GraphId> made = leads() ? Result<GraphId>(GraphId(0)) : device.leaveCapture();
  own = device.joins();
  Status status = meet(made.isOk() ? Status() : made.takeStatus(), leads() ? std::span<const cuda::Event>() : std::span<const cuda::Event>(own));
  if (leads()) {
    made = device.endCapture(others);
    if (status.isOk() && !made.isOk())
      status = made.takeStatus();
  }
  SLUICE_RETURN_IF_ERROR(meet(status, {}));
  return made;
}

Status SharedRecording::replay(GraphId graph) {
  Status status = leads() ? Status() : device.offer();
  own = leads() ? std::vector<cuda::Event>(1, device.origin()) : device.joins();
  SLUICE_RETURN_IF_ERROR(meet(status, own));
  const cuda::Event begun = others.empty() ? nullptr : others.front();
  if (leads())
    status = device.launch(graph, others);
  SLUICE_RETURN_IF_ERROR(meet(status, {}));
  return leads() ? Status() : device.follow(graph, begun);
}

} // namespace sluice
