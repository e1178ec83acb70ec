//===- RunLog.cpp - run.jsonl -------------------------------------------------------===//
#include "runtime/train/RunLog.h"
#include "runtime/train/File.h"

#include <cerrno>
#include <fcntl.h>

namespace sluice {

Result<RunLog> RunLog::open(const std::string &path) {
  if (path.empty())
    return RunLog(path, Descriptor());
  Descriptor descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!descriptor.isOpen())
    return writeError(path, errno);
  return RunLog(path, std::move(descriptor));
}

Status RunLog::write(const std::string &line) {
  if (!descriptor.isOpen())
    return {};
  const std::string text = line + "\n";
  Status status = writeAll(descriptor, path, std::as_bytes(std::span(text)));
  if (!status.isOk())
    descriptor = Descriptor();
  return status;
}

} // namespace sluice
