//===- DeviceStreams.h - the streams of a GPU and the order between them -----------------===//
//
// Each stream has an event by which it joins the first stream and is joined by it: captures and graph launches are on
// the first stream.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_DEVICE_CUDA_DEVICESTREAMS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_DEVICESTREAMS_H

#include "runtime/base/cuda/Table.h"

#include <span>
#include <string>
#include <vector>

namespace sluice {

struct DeviceStream {
  std::string name;
  cuda::Stream stream = nullptr;
  cuda::Event join = nullptr;
  /// It runs work of the host.
  bool ofHost = false;
};

class DeviceStreams : public std::vector<DeviceStream> {
public:
  explicit DeviceStreams(const cuda::Table &table) : table(table) {}

  Status record(const DeviceStream &on, cuda::Event event) const {
    return driverStatus(table, table.driver.eventRecord(event, on.stream), "cuEventRecord");
  }
  Status wait(const DeviceStream &on, cuda::Event event) const {
    return driverStatus(table, table.driver.streamWait(on.stream, event, 0), "cuStreamWaitEvent");
  }
  /// Every stream records its event.
  Status recordJoins() const {
    for (const DeviceStream &stream : *this)
      SLUICE_RETURN_IF_ERROR(record(stream, stream.join));
    return {};
  }
  /// Every stream waits for the event.
  Status waitAll(cuda::Event event) const {
    for (const DeviceStream &stream : *this)
      SLUICE_RETURN_IF_ERROR(wait(stream, event));
    return {};
  }
  /// The first stream waits for the others and for `events`.
  Status join(std::span<const cuda::Event> events) const {
    for (const DeviceStream &stream : std::span(*this).subspan(1)) {
      SLUICE_RETURN_IF_ERROR(record(stream, stream.join));
      SLUICE_RETURN_IF_ERROR(wait(front(), stream.join));
    }
    for (cuda::Event event : events)
      SLUICE_RETURN_IF_ERROR(wait(front(), event));
    return {};
  }
  /// The other streams wait for the first.
  Status fork() const {
    SLUICE_RETURN_IF_ERROR(record(front(), front().join));
    for (const DeviceStream &stream : std::span(*this).subspan(1))
      SLUICE_RETURN_IF_ERROR(wait(stream, front().join));
    return {};
  }

private:
  const cuda::Table &table;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DEVICESTREAMS_H
