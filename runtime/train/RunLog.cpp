//===- RunLog.cpp - run.jsonl -------------------------------------------------------===//
#include "runtime/train/RunLog.h"
#include "runtime/base/File.h"
#include "runtime/base/Json.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace sluice {

/// Removes the lines of later steps and of the summary from a log, if there is one.
static Status keepSteps(const std::string &path, std::uint64_t steps) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return Status::ok();
  std::ifstream file(path);
  std::string kept;
  for (std::string line; std::getline(file, line);) {
    const auto json = parseJson<nlohmann::json>(line);
    const auto step = json.find("step");
    const auto *number = step == json.end() ? nullptr : step->get_ptr<const std::uint64_t *>();
    if (number && *number <= steps)
      kept += line + "\n";
  }
  SLUICE_ASSIGN_OR_RETURN(OutputFile log, OutputFile::create(path));
  SLUICE_RETURN_IF_ERROR(log.write(kept));
  return log.commit();
}

Result<RunLog> RunLog::open(const std::string &path, std::uint64_t steps) {
  if (path.empty())
    return RunLog(path, Descriptor());
  if (steps != 0)
    SLUICE_RETURN_IF_ERROR(keepSteps(path, steps));
  const int start = steps != 0 ? O_APPEND : O_TRUNC;
  Descriptor descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | start | O_CLOEXEC, 0666));
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
