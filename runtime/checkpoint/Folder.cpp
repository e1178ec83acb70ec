//===- Folder.cpp - the checkpoints of a run in a folder ----------------------------===//
#include "runtime/checkpoint/Folder.h"

#include "runtime/base/File.h"
#include "runtime/checkpoint/Index.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice {

static constexpr std::string_view stepPrefix = "step-";

std::string stepPath(const std::string &folder, std::uint64_t step) {
  return fmt::format("{}/{}{:08}", folder, stepPrefix, step);
}

std::optional<std::uint64_t> stepOf(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::string_view digits = name.starts_with(stepPrefix) ? name.substr(stepPrefix.size()) : std::string_view();
  if (digits.size() < 8 || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  std::uint64_t step = 0;
  for (char digit : digits)
    step = step * 10 + static_cast<std::uint64_t>(digit - '0');
  return step;
}

/// The names in a folder.
static Result<std::vector<std::string>> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error);
  if (error == std::errc::no_such_file_or_directory)
    return names;
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error))
    names.push_back(at->path().filename().string());
  if (error)
    return inputError(fmt::format("cannot list '{}': {}", folder, error.message()));
  return names;
}

Result<std::vector<std::uint64_t>> listSteps(const std::string &folder) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> names, namesIn(folder));
  std::vector<std::uint64_t> steps;
  for (const std::string &name : names)
    if (const std::optional<std::uint64_t> step = stepOf(name))
      steps.push_back(*step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

bool isCheckpoint(const std::string &folder) {
  std::error_code error;
  return std::filesystem::exists(fmt::format("{}/{}", folder, trainingStateName), error);
}

static Status removeAll(const std::string &path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return error ? inputError(fmt::format("cannot remove '{}': {}", path, error.message())) : Status::ok();
}

Status removeLeftovers(const std::string &folder, bool damagedToo) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> names, namesIn(folder));
  for (const std::string &name : names)
    if (name.starts_with(stepPrefix) &&
        (name.ends_with(partialSuffix) || (damagedToo && name.ends_with(damagedSuffix))))
      SLUICE_RETURN_IF_ERROR(removeAll(folder + "/" + name));
  return Status::ok();
}

Status removeCheckpoint(const std::string &path) {
  const std::string moved = path + std::string(partialSuffix);
  SLUICE_RETURN_IF_ERROR(removeAll(moved));
  if (Status renamed = renamePath(path, moved); !renamed.isOk()) {
    std::error_code error;
    return std::filesystem::exists(path, error) ? renamed : Status::ok();
  }
  return removeAll(moved);
}

Status createFolder(const std::string &folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  // A probe that cannot be removed is a partial checkpoint.
  const std::string probe = fmt::format("{}/{}probe{}", folder, stepPrefix, partialSuffix);
  if (!error)
    std::filesystem::create_directory(probe, error);
  if (!error)
    std::filesystem::remove(probe, error);
  if (error)
    return writeError(folder, error.value());
  return syncFolder(parentFolder(folder));
}

Result<Descriptor> lockFolder(const std::string &folder) {
  const std::string path = folder + "/.lock";
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file.isOpen())
    return writeError(path, errno);
  struct stat info{};
  if (::fstat(file.get(), &info) == 0)
    if (const mode_t readers = info.st_mode & 0444 & ~((info.st_mode & 0222) << 1); readers != 0)
      // Only the owner can; a file of another user stays as it is.
      (void)!::fchmod(file.get(), (info.st_mode & 07777) & ~readers);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0)
    return file;
  if (errno == EWOULDBLOCK)
    return inputError(fmt::format("another run writes its checkpoints to '{}'", folder))
        .withNote("wait until it has ended, or give another folder with --checkpoint");
  return Descriptor();
}

Status renamePath(const std::string &from, const std::string &to) {
  return std::rename(from.c_str(), to.c_str()) == 0 ? Status::ok() : writeError(to, errno);
}

} // namespace sluice
