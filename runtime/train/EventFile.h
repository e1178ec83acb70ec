//===- EventFile.h - TensorBoard's event files ---------------------------------------===//
//
// A file of records: length, checksum of the length, the bytes of an `Event`, checksum of the bytes. The checksum is
// CRC-32C, rotated and shifted ("masked"). An `Event` is a protocol buffer message with a time, a step and named
// numbers; a library for messages of six fields would cost more than their encoding.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_EVENTFILE_H
#define SLUICE_RUNTIME_TRAIN_EVENTFILE_H

#include "runtime/base/Descriptor.h"
#include "runtime/base/Status.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

using Scalars = std::vector<std::pair<std::string_view, double>>;

class EventFile {
public:
  /// Creates the folder and a file `events.out.tfevents.<seconds>.<host>.<process>` in it; an empty path gives a file
  /// that drops its events.
  static Result<EventFile> create(const std::string &folder);
  /// The scalars of a step, written to the system at once. After a failure the file is closed, and further events are
  /// dropped.
  Status write(std::uint64_t step, const Scalars &scalars);

private:
  EventFile(std::string path, Descriptor descriptor) : path(std::move(path)), descriptor(std::move(descriptor)) {}
  Status writeRecord(const std::string &event);
  std::string path;
  Descriptor descriptor;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_EVENTFILE_H
