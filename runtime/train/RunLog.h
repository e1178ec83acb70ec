//===- RunLog.h - run.jsonl ---------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_RUNLOG_H
#define SLUICE_RUNTIME_TRAIN_RUNLOG_H

#include "runtime/base/Descriptor.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <string>

namespace sluice {

/// A file of lines, each written to the system at once, so that a reader can follow the run.
class RunLog {
public:
  /// Creates or truncates the file; an empty path gives a log that drops its lines. For a run that continues after
  /// `steps` steps, the lines of these steps are kept.
  static Result<RunLog> open(const std::string &path, std::uint64_t steps = 0);
  /// After a failure the log is closed, and further lines are dropped.
  Status write(const std::string &line);

private:
  RunLog(std::string path, Descriptor descriptor) : path(std::move(path)), descriptor(std::move(descriptor)) {}
  std::string path;
  Descriptor descriptor;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_RUNLOG_H
