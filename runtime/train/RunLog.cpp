//===- RunLog.cpp - run.jsonl -------------------------------------------------------===//
#include "runtime/train/RunLog.h"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace sluice {

static Status cannotWrite(const std::string &path, int error) {
  return inputError(fmt::format("cannot write '{}': {}", path, std::generic_category().message(error)));
}

RunLog::RunLog(std::string path, int descriptor) : path(std::move(path)), descriptor(descriptor) {}

RunLog::RunLog(RunLog &&other) noexcept
    : path(std::move(other.path)), descriptor(std::exchange(other.descriptor, -1)) {}

RunLog &RunLog::operator=(RunLog &&other) noexcept {
  std::swap(path, other.path);
  std::swap(descriptor, other.descriptor);
  return *this;
}

RunLog::~RunLog() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Result<RunLog> RunLog::open(const std::string &path) {
  if (path.empty())
    return RunLog(path, -1);
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return cannotWrite(path, errno);
  return RunLog(path, descriptor);
}

Status RunLog::write(const std::string &line) {
  if (descriptor < 0)
    return Status::ok();
  std::string text = line + "\n";
  for (std::size_t at = 0; at < text.size();) {
    ssize_t count = ::write(descriptor, text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return cannotWrite(path, errno);
    at += static_cast<std::size_t>(count);
  }
  return Status::ok();
}

} // namespace sluice
